#include "dial.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"

#define REAP_SECONDS 10

static int connect_one(const struct addrinfo *address)
{
    int fd = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(fd, address->ai_addr, address->ai_addrlen) != 0) {
        int kept = errno;
        close(fd);
        errno = kept;
        return -1;
    }
    return fd;
}

int dial_connect(const char *host, const char *port)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int status = getaddrinfo(host, port, &hints, &found);
    if (status != 0) {
        fail("connect", "%s:%s: %s", host, port, gai_strerror(status));
    }
    int fd = -1;
    for (const struct addrinfo *address = found; address != NULL && fd < 0;
         address = address->ai_next) {
        fd = connect_one(address);
    }
    if (fd < 0) {
        fail("connect", "%s:%s: %s", host, port, strerror(errno));
    }
    freeaddrinfo(found);
    return fd;
}

int dial_program(char *const *program, pid_t *child)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        fail("exec", "socketpair: %s", strerror(errno));
    }
    *child = fork();
    if (*child < 0) {
        fail("exec", "fork: %s", strerror(errno));
    }
    if (*child == 0) {
        dup2(pair[1], STDIN_FILENO);
        dup2(pair[1], STDOUT_FILENO);
        execvp(program[0], program);
        fprintf(stderr, "wren-lean: exec: %s: %s\n", program[0], strerror(errno));
        _exit(127);
    }
    close(pair[1]);
    return pair[0];
}

void dial_reap(pid_t child)
{
    for (int tries = 0; tries < REAP_SECONDS * 1000; tries++) {
        if (waitpid(child, NULL, WNOHANG) != 0) {
            return;
        }
        usleep(1000);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    fail("end", "the server still ran %d seconds after the connection was over", REAP_SECONDS);
}
