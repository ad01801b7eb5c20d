#include "ask.h"

#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/socket.h>

/* A reply's descriptors, in the order of their arrival. */
struct descriptors {
    bool cut_off; /* RLIMIT_NOFILE did not allow all of them */
    size_t count;
    int fds[IPC_REPLY_DESCRIPTORS];
};

static bool is_of_session(uint32_t type)
{
    return type >= IPC_PTY;
}

static int socket_for(const struct connection *connection, uint32_t type)
{
    return is_of_session(type) ? connection->session_ipc : connection->ipc;
}

/* Ends the connection, because of what the other process is or did. */
static bool fail(struct connection *connection, uint32_t type, const char *what)
{
    char reason[64];
    snprintf(reason, sizeof(reason), "the %s %s",
             is_of_session(type) ? "session process" : "monitor", what);
    connection_fail(connection, reason);
    return false;
}

/* After a failed system call. Only these errors say that the process has ended. */
static bool fail_call(struct connection *connection, uint32_t type)
{
    bool gone = errno == EPIPE || errno == ECONNRESET || errno == ECONNREFUSED;
    return fail(connection, type, gone ? "is gone" : "could not be asked");
}

static bool fail_wrong(struct connection *connection, uint32_t type)
{
    return fail(connection, type, "gave a wrong reply");
}

/* A request's struct is its first part. */
static uint32_t type_of(const struct iovec *parts)
{
    return *(const uint32_t *)parts[0].iov_base;
}

static bool send_request(struct connection *connection, struct iovec *parts, uint8_t part_count)
{
    uint32_t type = type_of(parts);
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = part_count};
    ssize_t sent;
    do {
        sent = sendmsg(socket_for(connection, type), &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent >= 0 || fail_call(connection, type);
}

static void take_descriptors(struct msghdr *message, struct descriptors *descriptors)
{
    /* The kernel puts all descriptors of a packet into one control message. */
    struct cmsghdr *control = CMSG_FIRSTHDR(message);
    if (control != NULL && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS) {
        descriptors->count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(descriptors->fds, CMSG_DATA(control), descriptors->count * sizeof(int));
    }
}

static void close_all(const struct descriptors *descriptors)
{
    for (size_t i = 0; i < descriptors->count; i++) {
        close(descriptors->fds[i]);
    }
}

/* True if the client has closed the connection. What it sends is read after the reply. */
static bool is_client_gone(void)
{
    struct pollfd client[] = {{.fd = STDIN_FILENO, .events = POLLRDHUP}, {.fd = STDOUT_FILENO}};
    return poll(client, 2, 0) > 0;
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
    *descriptors = (struct descriptors){.count = 0};
    memset(reply, 0, reply_bytes);
    int socket = socket_for(connection, type);
    /* The socket has a time limit (LIMIT_REPLY_WAIT_MS). The start of a program may hang on a dead
     * file system: if the client leaves meanwhile, the connection must still end. */
    do {
        received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (received < 0 && (errno == EINTR || (errno == EAGAIN && !is_client_gone())));
    if (received < 0 && errno == EAGAIN) {
        connection_leave(connection, "client left while a request was under way");
        return false;
    }
    if (received <= 0) {
        return received < 0 ? fail_call(connection, type) : fail(connection, type, "is gone");
    }
    take_descriptors(&message, descriptors);
    descriptors->cut_off = (message.msg_flags & MSG_CTRUNC) != 0;
    if (received != (ssize_t)reply_bytes || *(const uint32_t *)reply != type ||
        (message.msg_flags & MSG_TRUNC) != 0) {
        close_all(descriptors);
        return fail_wrong(connection, type);
    }
    return true;
}

/* Sends a request whose reply brings no descriptors. */
static bool ask_in_parts(struct connection *connection, struct iovec *parts, uint8_t part_count,
                         void *reply, size_t reply_bytes)
{
    uint32_t type = type_of(parts);
    struct descriptors none;
    if (!send_request(connection, parts, part_count) ||
        !receive_reply(connection, type, reply, reply_bytes, &none)) {
        return false;
    }
    close_all(&none);
    return (none.count == 0 && !none.cut_off) || fail_wrong(connection, type);
}

static bool ask_whole(struct connection *connection, void *request, size_t request_bytes,
                      void *reply, size_t reply_bytes)
{
    struct iovec part = iovec_of(request, request_bytes);
    return ask_in_parts(connection, &part, 1, reply, reply_bytes);
}

static bool ask_done(struct connection *connection, void *request, size_t request_bytes)
{
    struct ipc_done reply;
    return !connection->end.reached &&
           ask_whole(connection, request, request_bytes, &reply, sizeof(reply)) && reply.done == 1;
}

bool ask_start(struct connection *connection, uint32_t layers)
{
    struct ipc_start request = {.type = IPC_START, .layers = layers};
    struct ipc_start_reply reply;
    if (!ask_whole(connection, &request, sizeof(request), &reply, sizeof(reply))) {
        return false;
    }
    struct host_keys *keys = &connection->host_keys;
    if (reply.has_second > 1 || reply.certificate_bytes > sizeof(connection->certificate)) {
        return fail_wrong(connection, IPC_START);
    }
    keys->count = 1 + reply.has_second;
    memcpy(keys->public_keys[0], reply.host_public_key, sizeof(keys->public_keys[0]));
    memcpy(keys->public_keys[1], reply.second_public_key, sizeof(keys->public_keys[1]));
    keys->certificate_bytes = reply.certificate_bytes;
    memcpy(connection->certificate, reply.certificate, reply.certificate_bytes);
    return true;
}

bool ask_prove(struct connection *connection, uint32_t key, uint8_t signature[static 64])
{
    struct ipc_prove request = {.type = IPC_PROVE, .key = key};
    struct ipc_prove_reply reply;
    if (!ask_whole(connection, &request, sizeof(request), &reply, sizeof(reply))) {
        return false;
    }
    memcpy(signature, reply.signature, sizeof(reply.signature));
    return true;
}

bool ask_sign(struct connection *connection, const uint8_t secret[static 64], const uint8_t *q_c,
              size_t q_c_bytes, const uint8_t *q_s, size_t q_s_bytes, struct ipc_sign_reply *reply)
{
    const struct kex *kex = &connection->kex;
    const struct kex_buffers *buffers = &connection->buffers.kex;
    struct ipc_sign request = {.type = IPC_SIGN,
                               .hybrid = kex->hybrid ? 1 : 0,
                               .certified = kex->certified ? 1 : 0,
                               .client_version_bytes = (uint32_t)connection->client_version_bytes,
                               .client_kexinit_bytes = (uint32_t)kex->client_kexinit_bytes,
                               .server_kexinit_bytes = (uint32_t)kex->server_kexinit_bytes};
    memcpy(request.secret, secret, sizeof(request.secret));
    struct iovec parts[] = {iovec_of(&request, sizeof(request)),
                            iovec_of(connection->client_version, connection->client_version_bytes),
                            iovec_of(buffers->client_kexinit, kex->client_kexinit_bytes),
                            iovec_of(buffers->server_kexinit, kex->server_kexinit_bytes),
                            iovec_of(q_c, q_c_bytes),
                            iovec_of(q_s, q_s_bytes)};
    bool asked =
        ask_in_parts(connection, parts, sizeof(parts) / sizeof(parts[0]), reply, sizeof(*reply));
    sodium_memzero(&request, sizeof(request));
    if (asked && reply->hash_bytes != 32 && reply->hash_bytes != 64) {
        return fail_wrong(connection, IPC_SIGN);
    }
    return asked;
}

bool ask_auth(struct connection *connection, struct ipc_auth *request, const void *blob,
              enum ipc_verdict *verdict)
{
    request->type = IPC_AUTH;
    struct ipc_auth_reply reply;
    struct iovec parts[] = {iovec_of(request, sizeof(*request)),
                            iovec_of(blob, request->blob_bytes)};
    if (!ask_in_parts(connection, parts, sizeof(parts) / sizeof(parts[0]), &reply, sizeof(reply))) {
        return false;
    }
    connection->client.forced = reply.forced != 0;
    *verdict = (enum ipc_verdict)reply.verdict;
    return true;
}

/* Sends a request whose reply brings `count` descriptors if it says done, else none. */
static bool ask_descriptors(struct connection *connection, struct channel *channel,
                            struct iovec *parts, uint8_t part_count, int *fds, size_t count)
{
    uint32_t type = type_of(parts);
    struct ipc_done reply;
    struct descriptors found;
    if (connection->end.reached || !send_request(connection, parts, part_count) ||
        !receive_reply(connection, type, &reply, sizeof(reply), &found)) {
        return false;
    }
    if (found.cut_off) {
        /* The session process has succeeded, but not all descriptors have reached us. It releases
         * the channel, and with it the terminal of an earlier request. */
        close_all(&found);
        ask_release(connection, channel);
        channel_stdout_shut(channel);
        channel->has_pty = false;
        return false;
    }
    if (found.count != (reply.done == 1 ? count : 0)) {
        close_all(&found);
        return fail_wrong(connection, type);
    }
    memcpy(fds, found.fds, found.count * sizeof(fds[0]));
    return reply.done == 1;
}

bool ask_pty(struct connection *connection, struct channel *channel, const struct winsize *size,
             const struct termios *modes, int *master)
{
    struct ipc_pty request = {.type = IPC_PTY,
                              .channel = channel_number(connection, channel),
                              .size = *size,
                              .modes = *modes};
    struct iovec part = iovec_of(&request, sizeof(request));
    return ask_descriptors(connection, channel, &part, 1, master, 1);
}

bool ask_spawn(struct connection *connection, struct channel *channel, enum ipc_session_kind kind,
               const void *command, size_t command_bytes, int fds[static IPC_REPLY_DESCRIPTORS])
{
    struct ipc_spawn request = {.type = IPC_SPAWN,
                                .channel = channel_number(connection, channel),
                                .kind = kind,
                                .environment_bytes = (uint32_t)channel->environment_bytes,
                                .command_bytes = (uint32_t)command_bytes};
    memcpy(request.term, channel->term, sizeof(request.term));
    struct iovec parts[] = {iovec_of(&request, sizeof(request)),
                            iovec_of(channel->environment, channel->environment_bytes),
                            iovec_of(command, command_bytes)};
    size_t expected = channel->has_pty ? 1 : IPC_REPLY_DESCRIPTORS;
    return ask_descriptors(connection, channel, parts, 3, fds + IPC_REPLY_DESCRIPTORS - expected,
                           expected);
}

bool ask_signal(struct connection *connection, const struct channel *channel, uint32_t signal)
{
    struct ipc_signal request = {
        .type = IPC_SIGNAL, .channel = channel_number(connection, channel), .number = signal};
    return ask_done(connection, &request, sizeof(request));
}

bool ask_release(struct connection *connection, const struct channel *channel)
{
    struct ipc_release request = {.type = IPC_RELEASE,
                                  .channel = channel_number(connection, channel)};
    return ask_done(connection, &request, sizeof(request));
}

bool ask_note(struct connection *connection, uint32_t level, const char *text)
{
    size_t text_bytes = strnlen(text, LIMIT_NOTE_BYTES);
    struct ipc_note request = {
        .type = IPC_NOTE, .level = level, .text_bytes = (uint32_t)text_bytes};
    struct iovec parts[] = {iovec_of(&request, sizeof(request)), iovec_of(text, text_bytes)};
    struct ipc_done reply;
    return ask_in_parts(connection, parts, 2, &reply, sizeof(reply)) && reply.done == 1;
}

void ask_end(struct connection *connection)
{
    struct ipc_end request = {.type = IPC_END,
                              .cause = connection->end.cause,
                              .bytes_in = connection->socket.bytes_in,
                              .bytes_out = connection->socket.bytes_out};
    memcpy(request.reason, connection->end.reason, sizeof(request.reason));
    memcpy(request.asked, connection->asked, sizeof(request.asked));
    memcpy(request.client, connection->client_version, sizeof(request.client));
    memcpy(request.offer, connection->end.offer, sizeof(request.offer));
    struct iovec part = iovec_of(&request, sizeof(request));
    send_request(connection, &part, 1);
}
