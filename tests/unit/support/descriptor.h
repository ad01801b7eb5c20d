/* A message with a descriptor, over a socket pair. */
#ifndef WREN_UNIT_DESCRIPTOR_H
#define WREN_UNIT_DESCRIPTOR_H

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit.h"

/* Sends `bytes` bytes as one message, and standard error with them. */
static inline void send_with_descriptor(int socket, void *message, size_t bytes)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {message, bytes};
    struct msghdr sent = {.msg_iov = &part,
                          .msg_iovlen = 1,
                          .msg_control = &control,
                          .msg_controllen = sizeof(control)};
    const int fd = STDERR_FILENO;
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    ck_assert_int_eq(sendmsg(socket, &sent, 0), (ssize_t)bytes);
}

#endif
