#include "scratch.h"

#include <ftw.h>

static int stderr_before, reader;

void capture_begin(void)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    fflush(stderr);
    stderr_before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    reader = ends[0];
    ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[1]);
}

size_t capture_end(char *out, size_t out_bytes)
{
    dup2(stderr_before, STDERR_FILENO);
    close(stderr_before);
    ssize_t count = read(reader, out, out_bytes - 1);
    close(reader);
    out[count > 0 ? count : 0] = '\0';
    return count > 0 ? (size_t)count : 0;
}

void assert_contains(const char *text, const char *wanted)
{
    ck_assert_msg(strstr(text, wanted) != NULL, "no <%s> in <%s>", wanted, text);
}

void assert_lacks(const char *text, const char *unwanted)
{
    ck_assert_msg(strstr(text, unwanted) == NULL, "<%s> in <%s>", unwanted, text);
}

/* The last ones: a test may have made one anew under its old name. */
static char made[4][SCRATCH_BYTES];
static size_t count_made;

void scratch_make(char out[static SCRATCH_BYTES])
{
    char name[] = "/tmp/wren-unit-XXXXXX";
    umask(022);
    ck_assert_ptr_nonnull(mkdtemp(name));
    ck_assert_int_eq(chmod(name, 0755), 0);
    snprintf(out, SCRATCH_BYTES, "%s", name);
    snprintf(made[count_made++ % COUNT_OF(made)], SCRATCH_BYTES, "%s", name);
}

static int remove_one(const char *path, const struct stat *found, int kind, struct FTW *where)
{
    (void)found;
    (void)kind;
    (void)where;
    remove(path);
    return 0;
}

void scratch_remove(void)
{
    for (size_t i = 0; i < COUNT_OF(made); i++) {
        nftw(made[i], remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
}

void scratch_write(const char *directory, const char *name, const void *bytes, size_t count,
                   mode_t mode)
{
    char path[2 * SCRATCH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, count), (ssize_t)count);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}
