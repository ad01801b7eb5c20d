/*
 * The listener's start and end.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base.h"
#include "listen.h"
#include "listener_target.h"
#include "simulation.h"

SIMULATED(int, access, const char *path, int mode)
{
    return simulating ? 0 : __real_access(path, mode);
}

SIMULATED(int, stat, const char *path, struct stat *status)
{
    if (!simulating) {
        return __real_stat(path, status);
    }
    memset(status, 0, sizeof(*status));
    status->st_mode = S_IFREG | 0755;
    return 0;
}

SIMULATED_64(int, stat, const char *path, struct stat *status);

SIMULATED(int, socket, int family, int type, int protocol)
{
    return simulating ? simulation_open(5, 1, 0) : __real_socket(family, type, protocol);
}

SIMULATED(int, setsockopt, int fd, int level, int option, const void *value, socklen_t bytes)
{
    return simulating ? 0 : __real_setsockopt(fd, level, option, value, bytes);
}

SIMULATED(int, bind, int fd, const struct sockaddr *address, socklen_t bytes)
{
    return simulating ? 0 : __real_bind(fd, address, bytes);
}

SIMULATED(int, listen, int fd, int backlog)
{
    SIMULATION_CHECK(!simulating || backlog == 1024);
    return simulating ? 0 : __real_listen(fd, backlog);
}

/* ---- what systemd passes --------------------------------------------------------------------- */

SIMULATED(char *, getenv, const char *name)
{
    static char number[16];
    if (!simulating) {
        return __real_getenv(name);
    }
    if (strcmp(name, "LISTEN_PID") == 0) {
        snprintf(number, sizeof(number), "%d", (int)getpid() + state.foreign);
    } else {
        SIMULATION_CHECK(strcmp(name, "LISTEN_FDS") == 0);
        snprintf(number, sizeof(number), "%u", state.passed);
    }
    return number;
}

/* The object of a socket is its type, negative if it does not listen. */
SIMULATED(int, getsockopt, int fd, int level, int option, void *value, socklen_t *bytes)
{
    if (!simulating) {
        return __real_getsockopt(fd, level, option, value, bytes);
    }
    const struct simulated_fd *opened = simulation_fd(fd);
    SIMULATION_CHECK(level == SOL_SOCKET && *bytes == sizeof(int));
    errno = opened == NULL ? EBADF : ENOTSOCK;
    if (opened == NULL || opened->kind != FD_SOCKET) {
        return -1;
    }
    *(int *)value = option == SO_TYPE ? abs(opened->object) : opened->object > 0;
    return 0;
}

SIMULATED(int, fcntl, int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    int value = va_arg(list, int);
    va_end(list);
    if (!simulating) {
        return __real_fcntl(fd, command, value);
    }
    struct simulated_fd *opened = simulation_fd(fd);
    SIMULATION_CHECK(opened != NULL && opened->object == SOCK_STREAM);
    opened->cloexec = opened->cloexec || (command == F_SETFD && value == FD_CLOEXEC);
    opened->nonblocking = opened->nonblocking || (command == F_SETFL && value == O_NONBLOCK);
    return 0;
}

SIMULATED_64(int, fcntl, int fd, int command, ...);

/* ---- the log, and the end -------------------------------------------------------------------- */

SIMULATED(int, getsockname, int fd, struct sockaddr *address, socklen_t *bytes)
{
    return simulating ? 0 : __real_getsockname(fd, address, bytes);
}

SIMULATED(int, sysinfo, struct sysinfo *found)
{
    if (!simulating) {
        return __real_sysinfo(found);
    }
    memset(found, 0, sizeof(*found));
    found->totalram = 4096;
    found->mem_unit = 1 << 20;
    return 0;
}

SIMULATED(void, peer_learn, struct peer *peer, int fd)
{
    SIMULATION_CHECK(simulation_fd(fd) != NULL);
    memset(peer, 0, sizeof(*peer));
    strcpy(peer->address, "192.0.2.7");
}

SIMULATED(void, signals_reset, void)
{
}

SIMULATED(void, log_connect, void)
{
}

SIMULATED(int, signals_watch, bool with_ending)
{
    SIMULATION_CHECK(with_ending);
    return simulation_open(5, 2, 0);
}

SIMULATED(const char *, children_adopt, void)
{
    return NULL;
}

SIMULATED(bool, children_end, void)
{
    simulation_goal("ends-all");
    return true;
}
