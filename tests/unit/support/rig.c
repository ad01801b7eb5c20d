#include "rig.h"

#include <check.h>
#include <dirent.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "channel_streams.h"
#include "net.h"

/* Sets *end to the other process's end of a new pair; returns ours. */
static int make_pair(int *end)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    const struct timeval patience = {.tv_usec = 100000};
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    *end = pair[1];
    return pair[0];
}

static void close_if_open(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

static void close_channels(struct connection *connection)
{
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        struct channel *channel = &connection->channels[i];
        if (!channel_is_open(channel)) {
            continue;
        }
        if (channel->child_stdin != channel->child_stdout) {
            close_if_open(channel->child_stdin);
        }
        close_if_open(channel->child_stdout);
        close_if_open(channel->child_stderr);
        close_if_open(channel->child_exit);
    }
}

static void rig_close(struct rig *rig)
{
    close_channels(rig->connection);
    close_if_open(rig->connection->ipc);
    close_if_open(rig->connection->session_ipc);
    close_if_open(rig->monitor);
    close_if_open(rig->session);
    free(rig->connection);
}

void rig_open(struct rig *rig, enum ssh_phase phase)
{
    ck_assert_int_ge(sodium_init(), 0);
    if (rig->connection != NULL) { /* the test's before this one, without CK_FORK */
        rig_close(rig);
    }
    memset(rig, 0, sizeof(*rig));
    int ipc = make_pair(&rig->monitor);
    int session_ipc = make_pair(&rig->session);
    rig->connection = calloc(1, sizeof(*rig->connection));
    ck_assert_ptr_nonnull(rig->connection);
    connection_init(rig->connection, &rig->options, ipc, session_ipc, false);
    rig->connection->phase = phase;
}

void rig_reset(struct rig *rig, enum ssh_phase phase)
{
    struct connection *connection = rig->connection;
    int ipc = connection->ipc;
    int session_ipc = connection->session_ipc;
    close_channels(connection);
    memset(connection, 0, sizeof(*connection));
    connection_init(connection, &rig->options, ipc, session_ipc, false);
    connection->phase = phase;
    rig->sequence = 0;
    rig->up = rig->down = (struct wire){0};
}

/* ---- the client ------------------------------------------------------------------------------ */

void rig_say_bytes(struct rig *rig, const void *payload, size_t payload_bytes)
{
    uint8_t *exact = malloc(payload_bytes);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, payload, payload_bytes);
    dispatch(rig->connection, exact, payload_bytes, rig->sequence++);
    channel_stdin_finish_batch(rig->connection);
    free(exact);
}

static size_t message_of(uint8_t out[static WIRE_ROOM + 1], int number, const char *format,
                         va_list fields)
{
    out[0] = (uint8_t)number;
    return 1 + wire_pack_list(out + 1, format, fields);
}

void rig_say(struct rig *rig, int number, const char *format, ...)
{
    static uint8_t payload[WIRE_ROOM + 1];
    va_list fields;
    va_start(fields, format);
    size_t count = message_of(payload, number, format, fields);
    va_end(fields);
    rig_say_bytes(rig, payload, count);
}

void rig_deliver(struct rig *rig, const void *bytes, size_t count)
{
    struct connection *connection = rig->connection;
    ck_assert_uint_le(count, LIMIT_INPUT_BYTES - connection->input_end);
    memcpy(connection->buffers.input + connection->input_end, bytes, count);
    connection->input_end += count;
    dispatch_input(connection);
    channel_stdin_finish_batch(connection);
}

void rig_send_bytes(struct rig *rig, const void *payload, size_t payload_bytes)
{
    static uint8_t packet[WIRE_ROOM + 64];
    rig_deliver(rig, packet, wire_seal(&rig->up, packet, payload, payload_bytes));
}

void rig_send(struct rig *rig, int number, const char *format, ...)
{
    static uint8_t payload[WIRE_ROOM + 1];
    va_list fields;
    va_start(fields, format);
    size_t count = message_of(payload, number, format, fields);
    va_end(fields);
    rig_send_bytes(rig, payload, count);
}

struct reader rig_hear(struct rig *rig, int number)
{
    struct connection *connection = rig->connection;
    size_t waiting = connection->output_end - connection->output_start;
    ck_assert_msg(waiting > 0, "expected message %d, heard nothing", number);
    connection->output_start +=
        wire_open(&rig->down, connection->buffers.output + connection->output_start, waiting,
                  rig->heard, &rig->heard_bytes);
    if (connection->output_start == connection->output_end) {
        connection->output_start = connection->output_end = 0;
    }
    ck_assert_int_eq(rig->heard[0], number);
    return reader_over(rig->heard + 1, rig->heard_bytes - 1);
}

void rig_expect(struct rig *rig, int number, const char *format, ...)
{
    static uint8_t payload[WIRE_ROOM + 1];
    va_list fields;
    va_start(fields, format);
    size_t count = message_of(payload, number, format, fields);
    va_end(fields);
    rig_hear(rig, number);
    ck_assert_uint_eq(rig->heard_bytes, count);
    ck_assert_mem_eq(rig->heard, payload, count);
}

void rig_expect_silence(const struct rig *rig)
{
    const struct connection *connection = rig->connection;
    ck_assert_uint_eq(connection->output_end, connection->output_start);
}

static void expect_end(const struct rig *rig, uint32_t cause, const char *reason)
{
    const struct connection *connection = rig->connection;
    ck_assert_msg(connection->end.reached, "still alive, expected \"%s\"", reason);
    ck_assert_uint_eq(connection->end.cause, cause);
    ck_assert_msg(strstr(connection->end.reason, reason) != NULL, "ended with \"%s\", not \"%s\"",
                  connection->end.reason, reason);
}

void rig_expect_refusal(struct rig *rig, uint32_t code, const char *reason)
{
    expect_end(rig, IPC_END_CLIENT, reason);
    rig_expect(rig, SSH_MSG_DISCONNECT, "uss", code, rig->connection->end.reason, "");
    rig_expect_silence(rig);
    ck_assert_int_eq(rig->connection->phase, SSH_PHASE_ENDED);
}

void rig_expect_left(struct rig *rig, const char *reason)
{
    expect_end(rig, IPC_END_CLIENT, reason);
    rig_expect_silence(rig);
}

void rig_expect_failed(struct rig *rig, const char *reason)
{
    expect_end(rig, IPC_END_OURS, reason);
    rig_expect(rig, SSH_MSG_DISCONNECT, "uss", 11, "the server can't go on", "");
    rig_expect_silence(rig);
}

void rig_expect_alive(const struct rig *rig, enum ssh_phase phase)
{
    ck_assert_msg(!rig->connection->end.reached, "ended with \"%s\"", rig->connection->end.reason);
    ck_assert_int_eq(rig->connection->phase, phase);
}

/* ---- the monitor and the session process ------------------------------------------------------
 */

/* Who has requests of the type that stands first in the message. */
static int end_for(const struct rig *rig, const void *message)
{
    uint32_t type;
    memcpy(&type, message, sizeof(type));
    return type < IPC_PTY ? rig->monitor : rig->session;
}

void rig_reply_descriptors(struct rig *rig, const void *reply, size_t reply_bytes, const int *fds,
                           size_t count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control = {0};
    uint8_t copy[4096];
    ck_assert(reply_bytes <= sizeof(copy) && count <= 8);
    memcpy(copy, reply, reply_bytes);
    struct iovec part = {.iov_base = copy, .iov_len = reply_bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = (socklen_t)CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = (socklen_t)CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(rights), fds, count * sizeof(int));
    }
    ck_assert_int_eq(sendmsg(end_for(rig, reply), &message, 0), (int)reply_bytes);
}

void rig_reply(struct rig *rig, const void *reply, size_t reply_bytes)
{
    rig_reply_descriptors(rig, reply, reply_bytes, NULL, 0);
}

void rig_reply_done(struct rig *rig, uint32_t type, uint32_t done)
{
    struct ipc_done reply = {.type = type, .done = done};
    rig_reply(rig, &reply, sizeof(reply));
}

size_t rig_request(struct rig *rig, uint32_t type, void *request, size_t request_bytes)
{
    ssize_t count = recv(end_for(rig, &type), request, request_bytes, MSG_DONTWAIT | MSG_TRUNC);
    ck_assert_msg(count > 0, "no request %u", type);
    ck_assert_uint_le((size_t)count, request_bytes);
    uint32_t heard;
    memcpy(&heard, request, sizeof(heard));
    ck_assert_uint_eq(heard, type);
    return (size_t)count;
}

void rig_expect_note(struct rig *rig, uint32_t level, const char *text)
{
    struct {
        struct ipc_note note;
        char text[LIMIT_NOTE_BYTES + 1];
    } request = {0};
    rig_request(rig, IPC_NOTE, &request, sizeof(request) - 1);
    ck_assert_uint_eq(request.note.level, level);
    ck_assert_uint_eq(request.note.text_bytes, strlen(text));
    ck_assert_str_eq(request.text, text);
}

void rig_expect_no_request(const struct rig *rig)
{
    uint8_t byte;
    ck_assert_int_lt(recv(rig->monitor, &byte, 1, MSG_DONTWAIT | MSG_PEEK), 0);
    ck_assert_int_lt(recv(rig->session, &byte, 1, MSG_DONTWAIT | MSG_PEEK), 0);
}

int rig_client(void)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(dup2(pair[0], STDIN_FILENO), STDIN_FILENO);
    ck_assert_int_eq(dup2(pair[0], STDOUT_FILENO), STDOUT_FILENO);
    close(pair[0]);
    return pair[1];
}

int rig_open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;
    ck_assert_ptr_nonnull(directory);
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}
