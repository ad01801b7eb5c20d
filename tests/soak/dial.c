/*
 * In place of the lean client's dial.c: each connection comes from an address of its own.
 */
#include "dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fail.h"
#include "life.h"

/* With it set, close() sends nothing, and answers to what comes later are resets. */
#define REPAIR_ON 1

#define GUESTS    0x0a010000U /* 10.1.0.0 to 10.127.255.255 */
#define STRANGERS 0x0a800000U /* 10.128.0.0 to 10.254.255.255 */

int soak_fd = -1;
char soak_source[32];
static uint32_t source;

void come_from(bool guest)
{
    source = (guest ? GUESTS : STRANGERS) + chance(126U << 16) + 1;
}

int dial_connect(const char *host, const char *port)
{
    int on = 1;
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(source)};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    inet_pton(AF_INET, host, &to.sin_addr);
    soak_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (soak_fd < 0) {
        fail("connect", "socket: %s", strerror(errno));
    }
    setsockopt(soak_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(soak_fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    if (bind(soak_fd, (struct sockaddr *)&from, sizeof(from)) != 0 ||
        connect(soak_fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
        fail("connect", "%s", strerror(errno));
    }
    socklen_t bytes = sizeof(from);
    getsockname(soak_fd, (struct sockaddr *)&from, &bytes);
    snprintf(soak_source, sizeof(soak_source), "%s:%u", inet_ntoa(from.sin_addr),
             ntohs(from.sin_port));
    return soak_fd;
}

int dial_program(char *const *program, pid_t *child)
{
    (void)child;
    fail("exec", "%s: the soak connects", program[0]);
}

void dial_reap(pid_t child)
{
    (void)child;
}

void leave(enum leaving way)
{
    struct linger at_once = {.l_onoff = 1};
    int on = REPAIR_ON;
    if (soak_fd < 0) {
        return;
    }
    if (way == LEAVE_WITH_RESET) {
        setsockopt(soak_fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    } else if (way == LEAVE_WITHOUT_A_WORD &&
               setsockopt(soak_fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)) != 0) {
        fail("leave", "TCP_REPAIR: %s", strerror(errno));
    }
    close(soak_fd);
    soak_fd = -1;
}
