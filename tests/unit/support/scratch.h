/* What the unit tests of the log and of the monitor share: a scratch directory and a captured
 * stderr. */
#ifndef WREN_UNIT_SCRATCH_H
#define WREN_UNIT_SCRATCH_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

struct capture {
    int stderr_before;
    int reader;
};

/* What goes to stderr until capture_end() is kept: up to a pipe's worth. */
static inline void capture_begin(struct capture *capture)
{
    int ends[2];
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    fflush(stderr);
    capture->stderr_before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    capture->reader = ends[0];
    ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[1]);
}

static inline size_t capture_end(struct capture *capture, char *out, size_t out_bytes)
{
    dup2(capture->stderr_before, STDERR_FILENO);
    close(capture->stderr_before);
    ssize_t count = read(capture->reader, out, out_bytes - 1);
    close(capture->reader);
    out[count > 0 ? count : 0] = '\0';
    return count > 0 ? (size_t)count : 0;
}

static inline void assert_contains(const char *text, const char *wanted)
{
    ck_assert_msg(strstr(text, wanted) != NULL, "no <%s> in <%s>", wanted, text);
}

static inline void assert_lacks(const char *text, const char *unwanted)
{
    ck_assert_msg(strstr(text, unwanted) == NULL, "<%s> in <%s>", unwanted, text);
}

/* A fresh directory, mode 0755, for one test. Below it nothing is group-writable: umask 022. */
#define SCRATCH_BYTES 256
static inline void scratch_make(char out[static SCRATCH_BYTES])
{
    char name[] = "/tmp/wren-unit-XXXXXX";
    umask(022);
    ck_assert_ptr_nonnull(mkdtemp(name));
    ck_assert_int_eq(chmod(name, 0755), 0);
    snprintf(out, SCRATCH_BYTES, "%s", name);
}

static inline int scratch_remove_one(const char *path, const struct stat *found, int kind,
                                     struct FTW *where)
{
    (void)found;
    (void)kind;
    (void)where;
    remove(path);
    return 0;
}

static inline void scratch_remove(const char *path)
{
    nftw(path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Writes a file below the scratch directory, replacing what is there. */
static inline void scratch_write(const char *directory, const char *name, const void *bytes,
                                 size_t count, mode_t mode)
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

#endif
