/* On a kernel without close_range(), with /proc and without: this program's own syscall() and
 * opendir() take the place of the C library's. */
#include "descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

#include "unit.h"

static bool has_proc, is_fake;

long syscall(long number, ...)
{
    (void)number;
    errno = ENOSYS;
    return -1;
}

DIR *opendir(const char *path)
{
    if (!has_proc) {
        errno = ENOENT;
        return NULL;
    }
    int fd = open(is_fake ? "/" : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? NULL : fdopendir(fd);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void open_at(int fd)
{
    int null = open("/dev/null", O_RDONLY);
    ck_assert_int_ge(null, 0);
    ck_assert(null == fd || dup2(null, fd) == fd);
}

static void set_limit(rlim_t limit)
{
    struct rlimit both = {.rlim_cur = limit, .rlim_max = limit};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &both), 0);
}

static void with_proc(void)
{
    has_proc = true;
}

static void without_proc(void)
{
}

/* Something that can be listed, but isn't the list. */
static void with_another_proc(void)
{
    has_proc = is_fake = true;
}

static void (*const worlds[])(void) = {with_proc, without_proc, with_another_proc};

START_TEST(all_from_the_first_on)
{
    static const int wanted_gone[] = {21, 22, 40, 250, 900};
    worlds[_i]();
    open_at(20);
    for (int i = 0; i < 5; i++) {
        open_at(wanted_gone[i]);
    }
    descriptors_close_from(21);
    for (int i = 0; i < 5; i++) {
        ck_assert_msg(!is_open(wanted_gone[i]), "%d", wanted_gone[i]);
    }
    ck_assert(is_open(20));
}
END_TEST

/* prlimit(1) lowers limits of what is open already. */
START_TEST(those_above_a_lowered_limit)
{
    worlds[_i]();
    open_at(300);
    set_limit(100);
    descriptors_close_from(21);
    ck_assert(!is_open(300));
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("descriptors");
    TCase *tests = tcase_create("descriptors");
    tcase_add_loop_test(tests, all_from_the_first_on, 0, 3);
    tcase_add_loop_test(tests, those_above_a_lowered_limit, 0, 3);
    suite_add_tcase(suite, tests);
    return suite;
}
