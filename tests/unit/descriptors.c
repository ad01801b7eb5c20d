/* For process/descriptors.c. With and without close_range() and /proc: this
 * program's own syscall() replaces the C library's, and lists a directory entry by entry. */
#include "process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit.h"

static bool has_proc, is_fake, breaks_off;

/* Missing in the list: it stays open if the list was believed. */
static int latecomer;

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void open_at(int fd)
{
    int null = open("/dev/null", O_RDONLY);
    ck_assert_int_ge(null, 0);
    if (null != fd) {
        ck_assert_int_eq(dup2(null, fd), fd);
        close(null);
    }
}

/* As many entries as fit, in the kernel's layout: inode and offset, two bytes of length, one of
 * type, the name. */
static long list_entries(char *out, size_t out_bytes)
{
    static DIR *listing;
    static int calls;
    size_t used = 0;
    const struct dirent *entry;
    if (breaks_off && calls++ > 0) {
        errno = EIO;
        return -1;
    }
    listing = listing != NULL ? listing : opendir(is_fake ? "/" : "/proc/self/fd");
    ck_assert_ptr_nonnull(listing);
    while (out_bytes - used >= 280 && (entry = readdir(listing)) != NULL) {
        uint16_t bytes = (uint16_t)((19 + strlen(entry->d_name) + 1 + 7) / 8 * 8);
        memset(out + used, 0, bytes);
        memcpy(out + used + 16, &bytes, sizeof(bytes));
        strcpy(out + used + 19, entry->d_name);
        used += bytes;
    }
    if (used == 0) {
        closedir(listing);
        listing = NULL;
        if (latecomer > 0) {
            open_at(latecomer);
        }
    }
    return (long)used;
}

long syscall(long number, ...)
{
    va_list rest;
    va_start(rest, number);
    (void)va_arg(rest, int);
    char *out = number == SYS_getdents64 && has_proc ? va_arg(rest, char *) : NULL;
    size_t out_bytes = out != NULL ? va_arg(rest, size_t) : 0;
    va_end(rest);
    errno = ENOSYS;
    return out != NULL ? list_entries(out, out_bytes) : -1;
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

static void with_broken_proc(void)
{
    has_proc = breaks_off = true;
}

static void (*const worlds[])(void) = {with_proc, without_proc, with_another_proc,
                                       with_broken_proc};

/* More than one piece of the list. */
TEST_EACH(hundreds, 4)
{
    worlds[_i]();
    for (int fd = 20; fd < 600; fd++) {
        open_at(fd);
    }
    descriptors_close_from(21);
    ck_assert(is_open(20));
    for (int fd = 21; fd < 600; fd++) {
        ck_assert_msg(!is_open(fd), "%d", fd);
    }
}

TEST_EACH(all_from_the_first_on, 4)
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

/* prlimit(1) lowers limits of what is open already. */
TEST_EACH(those_above_a_lowered_limit, 4)
{
    worlds[_i]();
    open_at(300);
    set_limit(100);
    descriptors_close_from(21);
    ck_assert(!is_open(300));
}

/* Counting up takes tens of thousands of calls: only where the list is not whole. */
TEST(a_list_that_is_believed)
{
    with_proc();
    latecomer = 500;
    for (int fd = 20; fd < 200; fd++) {
        open_at(fd);
    }
    descriptors_close_from(21);
    ck_assert(!is_open(199));
    ck_assert(is_open(latecomer));
}

TEST_EACH(some_from_to, 4)
{
    worlds[_i]();
    for (int fd = 20; fd < 30; fd++) {
        open_at(fd);
    }
    close(24);
    descriptors_close_between(22, 27);
    for (int fd = 20; fd < 30; fd++) {
        ck_assert(is_open(fd) == (fd < 22 || fd > 27));
    }
}

TEST(ignored_signals_are_reset)
{
    static const int signals[] = {SIGINT, SIGUSR2, SIGSYS, 40, 63};
    struct sigaction found;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        signal(signals[i], SIG_IGN);
    }
    signals_reset();
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        sigaction(signals[i], NULL, &found);
        ck_assert(found.sa_handler == SIG_DFL);
    }
    sigaction(SIGPIPE, NULL, &found);
    ck_assert(found.sa_handler == SIG_IGN);
    sigaction(SIGXFSZ, NULL, &found);
    ck_assert(found.sa_handler == SIG_IGN);
    sigprocmask(SIG_SETMASK, NULL, &all);
    for (int number = 1; number < 64; number++) {
        ck_assert_int_eq(sigismember(&all, number) == 1, number == SIGUSR1);
    }
}

/* SIGUSR2 shows that the mask is replaced, not extended. */
TEST_EACH(watched_signals_are_read, 2)
{
    static const int ending[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    struct signalfd_siginfo read_one;
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    int fd = signals_watch(_i == 1);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    ck_assert_int_eq(sigismember(&blocked, SIGUSR2), 0);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(sigismember(&blocked, ending[i]), _i);
        if (_i == 1) {
            kill(getpid(), ending[i]);
            ck_assert_int_eq(read(fd, &read_one, sizeof(read_one)), sizeof(read_one));
            ck_assert_int_eq((int)read_one.ssi_signo, ending[i]);
        }
    }
    kill(getpid(), SIGCHLD);
    ck_assert_int_eq(read(fd, &read_one, sizeof(read_one)), sizeof(read_one));
    ck_assert_int_eq((int)read_one.ssi_signo, SIGCHLD);
    ck_assert(read(fd, &read_one, sizeof(read_one)) == -1 && errno == EAGAIN);
}
