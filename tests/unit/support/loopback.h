/* A TCP connection over loopback. */
#ifndef WREN_UNIT_LOOPBACK_H
#define WREN_UNIT_LOOPBACK_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit.h"

/* [0] has accepted, [1] has connected. */
static inline void loopback_connect(int pair[static 2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
    pair[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(pair[1], (struct sockaddr *)&address, sizeof(address)), 0);
    pair[0] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(pair[0], 0);
    close(listener);
}

#endif
