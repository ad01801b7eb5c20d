/* Each test runs in a process of its own, as a domain can't be left. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "seccomp.h"
#include "unit.h"

#define PIDFD_GETFD CALL_NUMBER(438)

/* The newest version that the tests let the kernel have. */
static int newest;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);

long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
    if (number == CALL_LANDLOCK_CREATE_RULESET && a != 0) {
        const struct landlock_attributes *asked = (const void *)a;
        if ((newest < 6 && asked->scoped != 0) ||
            (newest < 2 && (asked->handled_access_fs & LANDLOCK_REFER) != 0)) {
            errno = newest < 6 && asked->scoped != 0 ? E2BIG : EINVAL;
            return -1;
        }
    }
    return __real_syscall(number, a, b, c, d, e);
}

static int version_here(void)
{
    return (int)__real_syscall(CALL_LANDLOCK_CREATE_RULESET, 0L, 0L,
                               (long)LANDLOCK_CREATE_RULESET_VERSION, 0L, 0L);
}

static bool takes_a_descriptor_of(pid_t pid)
{
    int process = (int)__real_syscall(CALL_PIDFD_OPEN, (long)pid, 0L, 0L, 0L, 0L);
    int taken = (int)__real_syscall(PIDFD_GETFD, (long)process, (long)STDERR_FILENO, 0L, 0L, 0L);
    int error = errno;
    close(process);
    close(taken);
    errno = error;
    return taken >= 0;
}

static bool moves_between_directories(void)
{
    char from[] = "/tmp/landlock-XXXXXX";
    char to[] = "/tmp/landlock-XXXXXX";
    char path[2][64];
    bool made = mkdtemp(from) != NULL && mkdtemp(to) != NULL;
    snprintf(path[0], sizeof(path[0]), "%s/file", from);
    snprintf(path[1], sizeof(path[1]), "%s/file", to);
    close(open(path[0], O_CREAT | O_WRONLY, 0600));
    bool moved = made && rename(path[0], path[1]) == 0;
    unlink(path[0]);
    unlink(path[1]);
    rmdir(from);
    rmdir(to);
    return moved;
}

/* Runs in a fork, whose parent is outside of the domain; a failure's line is the exit status. */
static int look_around(void)
{
    pid_t parent = getppid();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) != 0) {
        return __LINE__;
    }
    if (!takes_a_descriptor_of(parent)) {
        return errno == ENOSYS || errno == EPERM ? 0 : __LINE__; /* Linux 5.5, or Yama */
    }
    landlock_isolate();
    bool isolated = newest >= 2 && version_here() >= 2;
    if (takes_a_descriptor_of(parent) == isolated || (isolated && errno != EPERM)) {
        return __LINE__;
    }
    bool keeps_signals = newest >= 6 && version_here() >= 6;
    if ((kill(parent, 0) == 0) == keeps_signals) {
        return __LINE__;
    }
    return kill(getpid(), 0) == 0 && moves_between_directories() ? 0 : __LINE__;
}

static const int versions[] = {1, 2, 6};

UNIT_NEEDS(!unit_is_emulated(), "an emulator runs it");

TEST_EACH(isolation, COUNT_OF(versions))
{
    int status = -1;
    newest = versions[_i];
    pid_t child = fork();
    if (child == 0) {
        _exit(look_around());
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

TEST(no_rules)
{
    newest = 6;
    ck_assert_int_eq(landlock_rules(1ULL << 63, 0), -1);
    ck_assert(!landlock_enter(-1));
}
