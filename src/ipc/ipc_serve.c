#include "ipc.h"

#include <sodium.h>
#include <sys/socket.h>

/* Finds the row. Returns NULL, or what is wrong with a request of this size and type in this phase.
 */
static const char *find_row(const struct request_row **found,
                            const struct request_row table[static IPC_TYPES], unsigned phase,
                            const void *request, size_t request_bytes)
{
    uint32_t type = 0;
    if (request_bytes >= sizeof(type)) {
        memcpy(&type, request, sizeof(type));
    }
    if (type >= IPC_TYPES || table[type].handle == NULL) {
        return "request of an unknown type";
    }
    const struct request_row *row = &table[type];
    if ((row->phases & phase) == 0) {
        return "request at the wrong time";
    }
    if (request_bytes < row->bytes) {
        return "request of a wrong size";
    }
    size_t tail_bytes = row->tail_bytes != NULL ? row->tail_bytes(request) : 0;
    if (request_bytes - row->bytes != tail_bytes) {
        return "request of a wrong size";
    }
    *found = row;
    return NULL;
}

static void close_passed(struct passed *passed)
{
    for (unsigned i = 0; i < passed->count; i++) {
        close(passed->descriptors[i]);
    }
    passed->count = 0;
}

/* Never waits: a network process that does not read its replies could otherwise stop us until after
 * the login's deadline. */
static bool send_reply(int socket, struct reply *reply)
{
    struct iovec part = {&reply->body, reply->bytes};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * IPC_REPLY_DESCRIPTORS)];
    } control;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (reply->passed.count > 0) {
        size_t count = reply->passed.count * sizeof(int);
        memset(&control, 0, sizeof(control));
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = (socklen_t)CMSG_LEN(count);
        memcpy(CMSG_DATA(&control.header), reply->passed.descriptors, count);
        message.msg_control = &control;
        message.msg_controllen = (socklen_t)CMSG_SPACE(count);
    }
    ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    close_passed(&reply->passed);
    return sent == (ssize_t)reply->bytes;
}

static const char *answer(int socket, const struct request_row table[static IPC_TYPES],
                          unsigned phase, void *process, const void *request, size_t request_bytes)
{
    const struct request_row *row = NULL;
    struct reply reply;
    memset(&reply, 0, sizeof(reply));
    const char *wrong = find_row(&row, table, phase, request, request_bytes);
    if (wrong == NULL) {
        memcpy(&reply.body.type, request, sizeof(reply.body.type));
        reply.bytes = row->reply_bytes;
        wrong = row->handle(process, request, &reply);
    }
    if (wrong != NULL) {
        close_passed(&reply.passed);
        return wrong;
    }
    if (reply.bytes > 0 && !send_reply(socket, &reply) && errno != EPIPE && errno != ECONNRESET) {
        return "network process does not read its replies";
    }
    /* If the network process has ended, its END or its exit status says why. */
    return NULL;
}

enum request_outcome ipc_serve(int socket, const struct request_row table[static IPC_TYPES],
                               unsigned phase, void *process, void *request, size_t room,
                               const char **wrong)
{
    struct iovec part = {request, room - 1};
    /* Without space for control data the kernel drops descriptors that were sent, and sets
     * MSG_CTRUNC. */
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    *wrong = NULL;
    ssize_t count = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
        return REQUEST_NONE;
    }
    if (count < 0 && errno == ECONNRESET) {
        return REQUEST_SERVED; /* it has not read a reply; its earlier requests can still be read */
    }
    if (count <= 0) {
        return REQUEST_CLOSED;
    }
    ((char *)request)[count] = '\0';
    if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        *wrong = "request of a wrong size";
    } else {
        *wrong = answer(socket, table, phase, process, request, (size_t)count);
    }
    sodium_memzero(request, (size_t)count);
    return REQUEST_SERVED;
}
