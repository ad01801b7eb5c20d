/*
 * The descriptors and terminals of the session process and its children.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "process.h"
#include "session_internal.h"
#include "session_model.h"
#include "session_program.h"
#include "session_target.h"
#include "simulation.h"

#define TIOCGPTPEER_NUMBER 0x5441

/* ---- descriptors ----------------------------------------------------------------------------- */

int session_open(int kind, int object, bool nonblocking)
{
    int fd = simulation_open(FREE_DESCRIPTOR_MIN, kind, object);
    simulation_fd(fd)->cloexec = true;
    simulation_fd(fd)->nonblocking = nonblocking;
    return fd;
}

SIMULATED(int, pipe2, int ends[2], int flags)
{
    if (!simulating) {
        return __real_pipe2(ends, flags);
    }
    SIMULATION_CHECK((flags & ~O_NONBLOCK) == O_CLOEXEC);
    if (program_fails(FAIL_PIPE)) {
        session.failed = true;
        errno = EMFILE;
        return -1;
    }
    bool nonblocking = (flags & O_NONBLOCK) != 0;
    ends[0] = session_open(FD_PIPE, 2 * session.next_pipe, nonblocking);
    ends[1] = session_open(FD_PIPE, 2 * session.next_pipe + 1, nonblocking);
    session.next_pipe++;
    return 0;
}

SIMULATED(int, socketpair, int family, int type, int protocol, int ends[2])
{
    if (!simulating) {
        return __real_socketpair(family, type, protocol, ends);
    }
    SIMULATION_CHECK(type == (SOCK_SEQPACKET | SOCK_CLOEXEC));
    if (state.started && program_fails(FAIL_SOCKET)) {
        session.failed = true;
        errno = EMFILE;
        return -1;
    }
    ends[0] = session_open(state.started ? FD_REPORT : FD_MONITORS, session.next_pid + 1, false);
    ends[1] = session_open(state.started ? FD_REPORTER : FD_LIFELINE, 0, false);
    return 0;
}

static int duplicate(int from, int to, bool cloexec)
{
    const struct simulated_fd copy = *simulation_fd(from);
    simulation_place(to, copy.kind, copy.object);
    simulation_fd(to)->cloexec = cloexec;
    simulation_fd(to)->nonblocking = copy.nonblocking;
    return to;
}

SIMULATED(int, dup2, int from, int to)
{
    SIMULATION_CHECK(!simulating || in_child);
    return simulating ? duplicate(from, to, false) : __real_dup2(from, to);
}

SIMULATED(int, dup3, int from, int to, int flags)
{
    SIMULATION_CHECK(!simulating || in_child);
    return simulating ? duplicate(from, to, (flags & O_CLOEXEC) != 0)
                      : __real_dup3(from, to, flags);
}

SIMULATED(void, descriptors_close_from, int first)
{
    SIMULATION_CHECK(in_child);
    simulation_close_from(first);
}

static int control(int fd, int command, long value)
{
    SIMULATION_CHECK(simulation_fd(fd) != NULL);
    if (command == F_SETFL) {
        simulation_fd(fd)->nonblocking = (value & O_NONBLOCK) != 0;
    }
    return 0;
}

SIMULATED(int, fcntl, int fd, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    long value = va_arg(rest, long);
    va_end(rest);
    return simulating ? control(fd, command, value) : __real_fcntl(fd, command, value);
}

SIMULATED_64(int, fcntl, int fd, int command, ...);

/* ---- terminals ------------------------------------------------------------------------------- */

SIMULATED(int, posix_openpt, int flags)
{
    SIMULATION_CHECK((flags & (O_NOCTTY | O_CLOEXEC | O_NONBLOCK)) ==
                     (O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
    if (program_fails(FAIL_TERMINAL)) {
        session.failed = true;
        errno = ENOSPC;
        return -1;
    }
    return session_open(FD_MASTER, session.next_terminal++, true);
}

SIMULATED(int, grantpt, int fd)
{
    return simulation_fd(fd)->kind == FD_MASTER ? 0 : -1;
}

SIMULATED(int, unlockpt, int fd)
{
    return simulation_fd(fd)->kind == FD_MASTER ? 0 : -1;
}

SIMULATED(int, ptsname_r, int fd, char *name, size_t bytes)
{
    SIMULATION_CHECK(bytes >= 32 && simulation_fd(fd)->kind == FD_MASTER);
    strcpy(name, "/dev/pts/7");
    return 0;
}

SIMULATED(int, ioctl, int fd, unsigned long request, ...)
{
    if (!simulating) {
        va_list rest;
        va_start(rest, request);
        void *value = va_arg(rest, void *);
        va_end(rest);
        return __real_ioctl(fd, request, value);
    }
    const struct simulated_fd *opened = simulation_fd(fd);
    SIMULATION_CHECK(opened != NULL);
    if (request == TIOCGPTPEER_NUMBER && !program_fails(FAIL_PEER)) {
        return session_open(FD_SLAVE, opened->object, false);
    }
    if (request == TIOCSCTTY) {
        SIMULATION_CHECK(in_child && opened->kind == FD_SLAVE);
        state.has_terminal = true;
        return 0;
    }
    if (request == TIOCSWINSZ && !program_fails(FAIL_MODES)) {
        return 0;
    }
    session.failed = session.failed || request == TIOCSWINSZ;
    errno = EINVAL;
    return -1;
}

SIMULATED(int, tcsetattr, int fd, int when, const struct termios *modes)
{
    (void)when;
    (void)modes;
    return simulation_fd(fd)->kind == FD_SLAVE ? 0 : -1;
}

static int open_terminal(const char *path)
{
    SIMULATION_CHECK(strcmp(path, "/dev/pts/7") == 0);
    if (program_fails(FAIL_OPEN)) {
        session.failed = true;
        errno = ENOENT;
        return -1;
    }
    return session_open(FD_SLAVE, session.next_terminal - 1, false);
}

SIMULATED(int, open, const char *path, int flags, ...)
{
    return simulating ? open_terminal(path) : __real_open(path, flags, 0600);
}

SIMULATED_64(int, open, const char *path, int flags, ...);
