/*
 * The listener's start and end.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "listen.h"
#include "peer.h"
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

int __wrap_stat64(const char *path, struct stat *status) __attribute__((alias("__wrap_stat")));

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
