/*
 * This program's own syscall() and poll() replace the C library's and give the kernel's answers.
 * Each test runs in a process of its own, so each starts without a source.
 */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <time.h>

#include "scratch.h"
#include "unit.h"

#define PLACE 20

static enum { WORKS, IN_PIECES, MISSING, FORBIDDEN, NEVER_READY, READY_LATER, BROKEN, DRY } kernel;
static unsigned calls, waiting_calls;
static uint8_t next_byte;

static long answer(uint8_t *bytes, size_t count, size_t most)
{
    size_t given = count < most ? count : most;
    for (size_t i = 0; i < given; i++) {
        bytes[i] = next_byte++;
    }
    return (long)given;
}

static long fail_with(int error)
{
    errno = error;
    return -1;
}

static long play(uint8_t *bytes, size_t count, unsigned flags)
{
    calls++;
    waiting_calls += flags == 0;
    switch (kernel) {
    case MISSING:
        return fail_with(ENOSYS);
    case FORBIDDEN:
        return fail_with(EPERM);
    case BROKEN:
        return fail_with(EIO);
    case DRY:
        return 0;
    case IN_PIECES:
        return calls % 3 == 2 ? fail_with(EINTR) : answer(bytes, count, 7);
    case NEVER_READY:
        if (flags == 0) {
            pause(); /* comes back with EINTR */
            return -1;
        }
        return fail_with(EAGAIN);
    case READY_LATER:
        return flags == 0 ? answer(bytes, count, count) : fail_with(EAGAIN);
    default:
        return answer(bytes, count, count);
    }
}

long syscall(long number, ...)
{
    va_list arguments;
    va_start(arguments, number);
    uint8_t *bytes = va_arg(arguments, uint8_t *);
    size_t count = va_arg(arguments, size_t);
    unsigned flags = va_arg(arguments, unsigned);
    va_end(arguments);
    return number == SYS_getrandom ? play(bytes, count, flags) : fail_with(ENOSYS);
}

static int polls_answer = 1, polls_timeout_ms;

/* The log asks as well, whether its reader reads. */
int poll(struct pollfd *entries, nfds_t count, int timeout_ms)
{
    ck_assert_uint_eq(count, 1);
    if (entries->events == POLLOUT) {
        entries->revents = POLLOUT;
        return 1;
    }
    polls_timeout_ms = timeout_ms;
    entries->revents = polls_answer == 1 ? POLLIN : 0;
    return polls_answer;
}

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 64; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

static char said[4096];

static bool start(int descriptor, unsigned seconds)
{
    capture_begin();
    bool started = entropy_start(descriptor, seconds);
    capture_end(said, sizeof(said));
    return started;
}

static bool is_timer_off(void)
{
    struct itimerval left;
    struct sigaction action;
    return getitimer(ITIMER_REAL, &left) == 0 && left.it_value.tv_sec == 0 &&
           left.it_value.tv_usec == 0 && sigaction(SIGALRM, NULL, &action) == 0 &&
           action.sa_handler == SIG_DFL;
}

/* ---- getrandom() ----------------------------------------------------------------------------- */

UNIT_TIMEOUT(20);

TEST(one_call_and_no_descriptor)
{
    int before = open_descriptors();
    ck_assert(start(PLACE, 60));
    ck_assert_uint_eq(calls, 1);
    ck_assert_uint_eq(waiting_calls, 0);
    ck_assert_str_eq(said, "");
    ck_assert_int_eq(open_descriptors(), before);
    ck_assert_int_eq(fcntl(PLACE, F_GETFD), -1);
    ck_assert(!entropy_is_descriptor());
}

TEST(libsodium_asks_us)
{
    uint8_t bytes[40] = {0};
    ck_assert(start(PLACE, 60));
    next_byte = 100;
    randombytes_buf(bytes, sizeof(bytes));
    for (unsigned i = 0; i < sizeof(bytes); i++) {
        ck_assert_uint_eq(bytes[i], 100 + i);
    }
    ck_assert_uint_ne(randombytes_random(), randombytes_random());
    ck_assert_uint_eq(waiting_calls, calls - 1);
    ck_assert_str_eq(randombytes_implementation_name(), "wrensshd");
}

TEST(short_and_interrupted_answers)
{
    uint8_t bytes[100] = {0};
    ck_assert(start(PLACE, 60));
    kernel = IN_PIECES;
    next_byte = 1;
    randombytes_buf(bytes, sizeof(bytes));
    for (unsigned i = 0; i < sizeof(bytes); i++) {
        ck_assert_uint_eq(bytes[i], 1 + i);
    }
}

TEST(pool_that_fills_later)
{
    kernel = READY_LATER;
    ck_assert(start(PLACE, 60));
    ck_assert_uint_eq(waiting_calls, 1);
    ck_assert(is_timer_off());
    ck_assert_str_eq(said, "");
}

TEST(pool_that_does_not_fill)
{
    struct timespec before, after;
    kernel = NEVER_READY;
    clock_gettime(CLOCK_MONOTONIC, &before);
    ck_assert(!start(PLACE, 1));
    clock_gettime(CLOCK_MONOTONIC, &after);
    ck_assert_int_le(after.tv_sec - before.tv_sec, 5);
    ck_assert(is_timer_off());
    assert_contains(
        said, "event=trouble what=\"random numbers\" reason=\"the kernel's random pool is not");
}

TEST_EACH_EXITS(lost_kernel_is_the_end, ENTROPY_EXIT, 3)
{
    uint8_t bytes[16];
    ck_assert(start(PLACE, 60));
    kernel = _i == 0 ? BROKEN : _i == 1 ? DRY : MISSING;
    randombytes_buf(bytes, sizeof(bytes));
}

TEST_EXITS(stopped_is_the_end, ENTROPY_EXIT)
{
    ck_assert(start(PLACE, 60));
    entropy_stop();
    randombytes_random();
}

/* ---- the devices ----------------------------------------------------------------------------- */

TEST_EACH(device_in_its_place, 2)
{
    struct stat found;
    uint8_t one[64] = {0}, other[64] = {0};
    static const uint8_t zeros[64] = {0};
    kernel = _i == 0 ? MISSING : FORBIDDEN;
    int before = open_descriptors();
    ck_assert(start(PLACE, 60));
    ck_assert_int_eq(open_descriptors(), before + 1);
    ck_assert(entropy_is_descriptor());
    ck_assert_int_eq(fstat(PLACE, &found), 0);
    ck_assert(S_ISCHR(found.st_mode) && found.st_rdev == makedev(1, 9));
    ck_assert_int_eq(fcntl(PLACE, F_GETFD), FD_CLOEXEC);
    ck_assert_int_eq(polls_timeout_ms, 60000);
    randombytes_buf(one, sizeof(one));
    randombytes_buf(other, sizeof(other));
    ck_assert_mem_ne(one, other, sizeof(one));
    ck_assert_mem_ne(one, zeros, sizeof(one));
    ck_assert_mem_ne(other + 32, zeros, 32);
}

TEST(device_takes_a_taken_place)
{
    struct stat found;
    kernel = MISSING;
    ck_assert_int_eq(dup2(STDERR_FILENO, PLACE), PLACE);
    ck_assert(start(PLACE, 60));
    ck_assert_int_eq(fstat(PLACE, &found), 0);
    ck_assert(found.st_rdev == makedev(1, 9));
}

TEST(device_anywhere)
{
    uint8_t bytes[8];
    kernel = MISSING;
    int before = open_descriptors();
    ck_assert(start(ENTROPY_ANYWHERE, 0));
    ck_assert_int_eq(polls_timeout_ms, -1);
    ck_assert_int_eq(open_descriptors(), before + 1);
    randombytes_buf(bytes, sizeof(bytes));
    entropy_stop();
    ck_assert_int_eq(open_descriptors(), before);
    ck_assert(!entropy_is_descriptor());
}

TEST(device_without_a_seed)
{
    kernel = MISSING;
    polls_answer = 0;
    int before = open_descriptors();
    ck_assert(!start(PLACE, 8640000));
    ck_assert_int_eq(polls_timeout_ms, INT_MAX);
    ck_assert_int_eq(open_descriptors(), before);
    ck_assert_int_eq(fcntl(PLACE, F_GETFD), -1);
    assert_contains(said, "path=/dev/random reason=\"the kernel's random pool is not");
}

/* Whatever file replaces the device: its bytes are not used as random bytes. */
TEST_EACH_EXITS(lost_device_is_the_end, ENTROPY_EXIT, 4)
{
    uint8_t bytes[16];
    int pipe_ends[2];
    kernel = MISSING;
    ck_assert(start(PLACE, 60));
    ck_assert_int_eq(pipe2(pipe_ends, O_NONBLOCK), 0);
    if (_i == 0) {
        close(PLACE);
    } else if (_i == 1) {
        dup2(open("/dev/null", O_RDONLY), PLACE);
    } else if (_i == 2) {
        dup2(pipe_ends[0], PLACE);
    } else {
        entropy_stop();
        dup2(open("/dev/zero", O_RDONLY), PLACE);
    }
    randombytes_buf(bytes, sizeof(bytes));
}

static bool cover(const char *path, const char *with)
{
    return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount(with, path, NULL, MS_BIND, NULL) == 0;
}

static const struct {
    const char *path;
    const char *with;
} fakes[] = {
    {"/dev/urandom", "/etc/passwd"}, {"/dev/urandom", "/dev/zero"}, {"/dev/urandom", "/dev/random"},
    {"/dev/random", "/etc/passwd"},  {"/dev/random", "/dev/zero"},
};

TEST_EACH(another_file_by_the_name, COUNT_OF(fakes))
{
    char wanted[64];
    kernel = MISSING;
    int before = open_descriptors();
    if (!cover(fakes[_i].path, fakes[_i].with)) {
        return;
    }
    ck_assert(!start(PLACE, 60));
    ck_assert_int_eq(open_descriptors(), before);
    ck_assert_int_eq(fcntl(PLACE, F_GETFD), -1);
    snprintf(wanted, sizeof(wanted), "path=%s reason=\"is not the kernel's", fakes[_i].path);
    assert_contains(said, wanted);
}

TEST(no_device)
{
    kernel = MISSING;
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/dev", "tmpfs", 0, NULL) != 0) {
        return;
    }
    ck_assert(!start(PLACE, 60));
    assert_contains(said, "path=/dev/random reason=\"No such file");
    ck_assert_int_eq(mknod("/dev/random", S_IFCHR | 0444, makedev(1, 8)), 0);
    ck_assert(!start(PLACE, 60));
    assert_contains(said, "path=/dev/urandom reason=\"No such file");
}
