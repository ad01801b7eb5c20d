/*
 * The sockets of wrensshd-listen: its own on a port, or those that systemd passes, by the protocol
 * of sd_listen_fds(3).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base.h"
#include "listen.h"
#include "log.h"

/* ---- a port ---------------------------------------------------------------------------------- */

/* A socket for both families, or for IPv4 alone if the kernel has no IPv6. */
static int open_socket(const struct listener *listener, struct sockaddr_in6 *local)
{
    const int off = 0;
    const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    const struct in6_addr *address = &listener->address;
    *local = (struct sockaddr_in6){.sin6_family = AF_INET6,
                                   .sin6_port = htons((uint16_t)listener->port),
                                   .sin6_addr = *address};
    int fd = socket(AF_INET6, type, 0);
    if (fd >= 0) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    } else if (address_is_ipv4(address) || memcmp(address, &in6addr_any, sizeof(*address)) == 0) {
        /* The port has the same offset in both structs. */
        struct sockaddr_in *local4 = (struct sockaddr_in *)(void *)local;
        local4->sin_family = AF_INET;
        memcpy(&local4->sin_addr, &address->s6_addr[ADDRESS_IPV4_OFFSET], sizeof(local4->sin_addr));
        fd = socket(AF_INET, type, 0);
    }
    return fd;
}

/* A network that is set up later brings it. */
static bool is_late(int error)
{
    return error == ENODEV || error == EADDRNOTAVAIL;
}

static void log_failure(const struct listener *listener, int error)
{
    char what[sizeof("can't listen yet on port 65535 of any address") + INET6_ADDRSTRLEN];
    const char *address = listener->address_text;
    snprintf(what, sizeof(what), "can't listen %son port %u of %s", is_late(error) ? "yet " : "",
             listener->port, address != NULL ? address : "any address");
    log_trouble(what, listener->interface, error == EACCES ? "needs root" : strerror(error));
}

static int bind_port(struct listener *listener)
{
    const int on = 1;
    const char *interface = listener->interface;
    struct sockaddr_in6 local;
    int fd = open_socket(listener, &local);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        (interface != NULL && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface,
                                         (socklen_t)strlen(interface) + 1) != 0) ||
        bind(fd, (struct sockaddr *)&local, sizeof(local)) != 0 ||
        listen(fd, LIMIT_LISTEN_BACKLOG) != 0) {
        listener->error = errno;
        close(fd);
        return -1;
    }
    listener->error = 0;
    return fd;
}

/* The kernel binds to an interface's index: one that is made anew has another. */
static bool is_bound(int fd, const char *interface)
{
    char name[IF_NAMESIZE] = "";
    socklen_t bytes = sizeof(name);
    return getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &bytes) == 0
               ? strcmp(name, interface) == 0
               : errno != ENODEV; /* kernels before 3.8 can't say */
}

bool sockets_renew(struct listener *listener)
{
    struct pollfd *own = &listener->watched[1];
    const char *interface = listener->interface;
    int before = listener->error;
    bool bound = listener->own >= 0 && (interface == NULL || is_bound(listener->own, interface));
    if (bound) {
        bool back = own->fd < 0;
        own->fd = listener->own;
        listener->error = 0;
        return back;
    }
    own->fd = bind_port(listener);
    if (own->fd < 0) {
        if (listener->error != before) {
            log_failure(listener, listener->error);
        }
        return false;
    }
    close(listener->own);
    listener->own = own->fd;
    return true;
}

/* ---- systemd --------------------------------------------------------------------------------- */

#define PASSED_FIRST 3 /* SD_LISTEN_FDS_START */

/* So that the program that we start does not take these sockets for its own. */
static void remove_variables(void)
{
    char **kept = environ;
    for (char **entry = environ; *entry != NULL; entry++) {
        if (strncmp(*entry, "LISTEN_", 7) != 0) {
            *kept++ = *entry;
        }
    }
    *kept = NULL;
}

/* Returns the reason why there are no sockets for us, or NULL; sets *name to the variable. */
static const char *read_variables(unsigned *count, const char **name)
{
    unsigned pid;
    const char *text = getenv(*name = "LISTEN_PID");
    if (text == NULL) {
        return "is not set";
    }
    if (!number_read(&pid, text) || (pid_t)pid != getpid()) {
        return "is not our process";
    }
    text = getenv(*name = "LISTEN_FDS");
    bool good =
        text != NULL && number_read(count, text) && *count >= 1 && *count <= LIMIT_LISTEN_SOCKETS;
    _Static_assert(LIMIT_LISTEN_SOCKETS == 64, "the reason below");
    return good ? NULL : "is not 1 to 64";
}

static const char *judge_socket(int fd)
{
    int type = 0;
    int listens = 0;
    socklen_t bytes = sizeof(type);
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0) {
        return strerror(errno);
    }
    if (type != SOCK_STREAM) {
        return "not a stream socket";
    }
    if (listens == 0) {
        return "does not listen: it may be a connection, of a unit with Accept=yes";
    }
    /* O_NONBLOCK also holds for systemd's copy, on which systemd does not accept. */
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0
               ? NULL
               : strerror(errno);
}

static bool refuse_passed(const char *place, const char *reason)
{
    log_trouble("can't take systemd's sockets", place, reason);
    return false;
}

static bool take_passed(struct listener *listener)
{
    char place[sizeof("descriptor -2147483648")];
    const char *name;
    const char *wrong = read_variables(&listener->sockets, &name);
    if (wrong != NULL) {
        return refuse_passed(name, wrong);
    }
    for (unsigned i = 0; i < listener->sockets; i++) {
        int fd = PASSED_FIRST + (int)i;
        wrong = judge_socket(fd);
        if (wrong != NULL) {
            snprintf(place, sizeof(place), "descriptor %d", fd);
            return refuse_passed(place, wrong);
        }
        listener->watched[1 + i] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    return true;
}

bool sockets_open(struct listener *listener, int *status)
{
    unsigned passed;
    const char *name;
    *status = EXIT_USAGE;
    if (listener->from_systemd) {
        bool taken = take_passed(listener);
        listener->own = listener->watched[1].fd;
        remove_variables();
        return taken;
    }
    if (read_variables(&passed, &name) == NULL) {
        return refuse_passed("the port",
                             "systemd passed sockets: write systemd instead of the port");
    }
    *status = EXIT_TROUBLE;
    listener->sockets = 1;
    listener->own = -1;
    listener->watched[1] = (struct pollfd){.fd = -1, .events = POLLIN};
    return sockets_renew(listener) || is_late(listener->error);
}
