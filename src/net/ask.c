#include "ask.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* A reply's descriptors, in the order they came. */
struct descriptors {
    size_t count;
    int fds[IPC_REPLY_DESCRIPTORS];
};

static bool send_request(struct connection *connection, struct iovec *parts, size_t part_count)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = part_count};
    ssize_t sent;
    do {
        sent = sendmsg(connection->ipc, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        connection_fail(connection, "the monitor is gone");
        return false;
    }
    return true;
}

static void take_descriptors(struct msghdr *message, struct descriptors *descriptors)
{
    for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control != NULL;
         control = CMSG_NXTHDR(message, control)) {
        if (control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS) {
            descriptors->count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            memcpy(descriptors->fds, CMSG_DATA(control), descriptors->count * sizeof(int));
        }
    }
}

static void close_all(const struct descriptors *descriptors)
{
    for (size_t i = 0; i < descriptors->count; i++) {
        close(descriptors->fds[i]);
    }
}

static bool receive_reply(struct connection *connection, uint32_t type, void *reply,
                          size_t reply_bytes, struct descriptors *descriptors)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(IPC_REPLY_DESCRIPTORS * sizeof(int))];
    } control;
    struct iovec part = {.iov_base = reply, .iov_len = reply_bytes};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t received;
    descriptors->count = 0;
    memset(reply, 0, reply_bytes);
    do {
        received = recvmsg(connection->ipc, &message, MSG_CMSG_CLOEXEC);
    } while (received < 0 && errno == EINTR);
    if (received <= 0) {
        connection_fail(connection, "the monitor is gone");
        return false;
    }
    take_descriptors(&message, descriptors);
    uint32_t reply_type;
    memcpy(&reply_type, reply, sizeof(reply_type));
    if (received != (ssize_t)reply_bytes || reply_type != type ||
        (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        close_all(descriptors);
        connection_fail(connection, "the monitor gave a wrong reply");
        return false;
    }
    return true;
}

/* One request without a tail, one reply without descriptors. */
static bool ask(struct connection *connection, void *request, size_t request_bytes, void *reply,
                size_t reply_bytes)
{
    uint32_t type;
    memcpy(&type, request, sizeof(type));
    struct iovec part = {.iov_base = request, .iov_len = request_bytes};
    struct descriptors none;
    if (!send_request(connection, &part, 1) ||
        !receive_reply(connection, type, reply, reply_bytes, &none)) {
        return false;
    }
    close_all(&none);
    return none.count == 0;
}

static bool ask_done(struct connection *connection, void *request, size_t request_bytes)
{
    struct ipc_done reply;
    return ask(connection, request, request_bytes, &reply, sizeof(reply)) && reply.done == 1;
}

bool ask_start(struct connection *connection, uint32_t layers)
{
    struct ipc_start request = {.type = IPC_START, .layers = layers};
    struct ipc_start_reply reply;
    if (!ask(connection, &request, sizeof(request), &reply, sizeof(reply))) {
        return false;
    }
    memcpy(connection->host_public_key, reply.host_public_key, sizeof(reply.host_public_key));
    return true;
}

bool ask_sign(struct connection *connection, const uint8_t *hash, size_t hash_bytes,
              uint8_t signature[static 64])
{
    struct ipc_sign request = {.type = IPC_SIGN, .hash_bytes = (uint32_t)hash_bytes};
    memcpy(request.hash, hash, hash_bytes);
    struct ipc_sign_reply reply;
    if (!ask(connection, &request, sizeof(request), &reply, sizeof(reply))) {
        return false;
    }
    memcpy(signature, reply.signature, sizeof(reply.signature));
    return true;
}

bool ask_auth(struct connection *connection, struct ipc_auth *request, enum ipc_verdict *verdict)
{
    request->type = IPC_AUTH;
    struct ipc_auth_reply reply;
    if (!ask(connection, request, sizeof(*request), &reply, sizeof(reply))) {
        return false;
    }
    *verdict = (enum ipc_verdict)reply.verdict;
    return true;
}

/* For the requests whose reply brings exactly `count` descriptors if it says done. */
static bool ask_descriptors(struct connection *connection, struct iovec *parts, size_t part_count,
                            size_t count, struct descriptors *descriptors)
{
    uint32_t type;
    memcpy(&type, parts[0].iov_base, sizeof(type));
    struct ipc_done reply;
    if (!send_request(connection, parts, part_count) ||
        !receive_reply(connection, type, &reply, sizeof(reply), descriptors)) {
        return false;
    }
    if (reply.done != 1 || descriptors->count != count) {
        close_all(descriptors);
        return false;
    }
    return true;
}

bool ask_pty(struct connection *connection, uint32_t slot, const struct winsize *size,
             const struct termios *modes, int *master)
{
    struct ipc_pty request = {.type = IPC_PTY, .slot = slot, .size = *size, .modes = *modes};
    struct iovec part = {.iov_base = &request, .iov_len = sizeof(request)};
    struct descriptors descriptors;
    if (!ask_descriptors(connection, &part, 1, 1, &descriptors)) {
        return false;
    }
    *master = descriptors.fds[0];
    return true;
}

bool ask_spawn(struct connection *connection, struct channel *channel, uint32_t slot,
               enum ipc_session_kind kind, const void *command, size_t command_bytes)
{
    struct ipc_spawn request = {.type = IPC_SPAWN,
                                .slot = slot,
                                .kind = kind,
                                .environment_bytes = (uint32_t)channel->environment_bytes,
                                .command_bytes = (uint32_t)command_bytes};
    memcpy(request.term, channel->term, sizeof(request.term));
    union {
        const void *source;
        void *part;
    } tail = {.source = command};
    struct iovec parts[] = {
        {.iov_base = &request, .iov_len = sizeof(request)},
        {.iov_base = channel->environment, .iov_len = channel->environment_bytes},
        {.iov_base = tail.part, .iov_len = command_bytes}};
    struct descriptors descriptors;
    size_t expected = channel->has_pty ? 1 : IPC_REPLY_DESCRIPTORS;
    if (!ask_descriptors(connection, parts, 3, expected, &descriptors)) {
        return false;
    }
    if (!channel->has_pty) {
        channel->child_stdin = descriptors.fds[0];
        channel->child_stdout = descriptors.fds[1];
        channel->child_stderr = descriptors.fds[2];
    }
    channel->child_exit = descriptors.fds[expected - 1];
    return true;
}

bool ask_signal(struct connection *connection, uint32_t slot, uint32_t number)
{
    struct ipc_signal request = {.type = IPC_SIGNAL, .slot = slot, .number = number};
    return ask_done(connection, &request, sizeof(request));
}

bool ask_release(struct connection *connection, uint32_t slot)
{
    struct ipc_release request = {.type = IPC_RELEASE, .slot = slot};
    return ask_done(connection, &request, sizeof(request));
}

bool ask_note(struct connection *connection, uint32_t level, const char *text)
{
    size_t text_bytes = strnlen(text, LIMIT_NOTE_BYTES);
    struct ipc_note request = {
        .type = IPC_NOTE, .level = level, .text_bytes = (uint32_t)text_bytes};
    union {
        const void *source;
        void *part;
    } tail = {.source = text};
    struct iovec parts[] = {{.iov_base = &request, .iov_len = sizeof(request)},
                            {.iov_base = tail.part, .iov_len = text_bytes}};
    struct descriptors none;
    return ask_descriptors(connection, parts, 2, 0, &none);
}

void ask_end(struct connection *connection)
{
    struct ipc_end request = {.type = IPC_END,
                              .cause = connection->end_cause,
                              .bytes_in = connection->bytes_in,
                              .bytes_out = connection->bytes_out};
    memcpy(request.reason, connection->end_reason, sizeof(request.reason));
    struct iovec part = {.iov_base = &request, .iov_len = sizeof(request)};
    send_request(connection, &part, 1);
}
