#include "base.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>

#include "lease_holder.h"
#include "limit.h"
#include "scratch.h"
#include "unit.h"

static char scratch[SCRATCH_BYTES];
static char path[2 * SCRATCH_BYTES];
static unsigned pauses;
static bool sleeps;

/* In place of the C library's: counts pauses. */
int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    const struct timespec pause = {.tv_nsec = timeout_ms * 1000000L};
    ck_assert_ptr_null(fds);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(timeout_ms, LIMIT_LEASE_WAIT_MS);
    pauses++;
    return sleeps ? nanosleep(&pause, NULL) : 0;
}

static void begin(void)
{
    scratch_make(scratch);
    scratch_write(scratch, "file", "content", 7, 0600);
    snprintf(path, sizeof(path), "%s/file", scratch);
    pauses = 0;
    sleeps = false;
}

UNIT_FIXTURE(begin, NULL);

TEST(waits_until_the_lease_is_given_up)
{
    char bytes[8];
    pid_t holder = lease_hold(path, F_WRLCK);
    sleeps = true;
    int fd = lease_open(AT_FDCWD, path);
    ck_assert_int_ge(fd, 0);
    ck_assert(pauses > 0 || holder == 0);
    ck_assert_int_eq(read(fd, bytes, sizeof(bytes)), 7);
    ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
    ck_assert(lease_is_given_up(holder));
    close(fd);
}

TEST(other_errors_do_not_wait)
{
    static const int errors[] = {0, ENOENT, EACCES, EINTR, ENXIO, EBUSY};
    unsigned waits = 0;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        ck_assert(!lease_wait(errors[i], &waits));
    }
    unlink(path);
    ck_assert_int_eq(lease_open(AT_FDCWD, path), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_uint_eq(pauses, 0);
}

/* A file that fails so for another reason, or a lease that is never given up. */
TEST(waits_have_an_end)
{
    unsigned waits = 0;
    while (lease_wait(EWOULDBLOCK, &waits)) {
        ck_assert_uint_le(pauses, LIMIT_LEASE_WAITS);
    }
    ck_assert_uint_eq(pauses, LIMIT_LEASE_WAITS);
}

TEST(fifo_does_not_block)
{
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    int fd = lease_open(AT_FDCWD, path);
    ck_assert_int_ge(fd, 0);
    ck_assert_uint_eq(pauses, 0);
    close(fd);
}
