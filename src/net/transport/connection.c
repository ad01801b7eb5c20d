#include "net.h"

#include <stdarg.h>
#include <stdio.h>

void connection_init(struct connection *connection, const struct net_options *options, int ipc,
                     int session_ipc, bool tcp)
{
    connection->options = options;
    connection->ipc = ipc;
    connection->session_ipc = session_ipc;
    connection->socket.tcp = tcp;
    connection->socket.quickack = tcp;
    connection->phase = SSH_PHASE_VERSION;
}

void connection_mark_used(struct connection *connection)
{
    connection->times.used_ms = connection->now_ms;
}

/* ---- sending messages ------------------------------------------------------------------------ */

static bool is_held_back(const struct connection *connection, enum ssh_message number)
{
    bool of_key_exchange = number >= SSH_MSG_KEXINIT && number < SSH_MSG_USERAUTH_REQUEST;
    return connection->kex.sent && !of_key_exchange && number != SSH_MSG_DISCONNECT;
}

size_t output_room(const struct connection *connection)
{
    return LIMIT_OUTPUT_BYTES - (connection->output_end - connection->output_start);
}

struct writer message_begin(struct connection *connection, enum ssh_message number)
{
    struct writer message;
    if (is_held_back(connection, number)) {
        writer_init(&message, connection->buffers.kex.deferred + connection->deferred_bytes,
                    LIMIT_DEFERRED_BYTES - connection->deferred_bytes);
        writer_string_begin(&message);
    } else {
        uint8_t *output = connection->buffers.output;
        if (LIMIT_OUTPUT_BYTES - connection->output_end < LIMIT_REPLY_BYTES &&
            connection->output_start > 0) {
            connection->output_end -= connection->output_start;
            memmove(output, output + connection->output_start, connection->output_end);
            connection->output_start = 0;
        }
        size_t room = LIMIT_OUTPUT_BYTES - connection->output_end;
        size_t payload_room = room > PACKET_OVERHEAD_BYTES ? room - PACKET_OVERHEAD_BYTES : 0;
        writer_init(&message, output + connection->output_end + PACKET_HEADER_BYTES, payload_room);
    }
    writer_u8(&message, (uint8_t)number);
    return message;
}

static void refuse_flood(struct connection *connection)
{
    connection_refuse(connection, SSH_DISCONNECT_PROTOCOL_ERROR,
                      "too many requests during a key exchange");
}

/* The u32 before each message that is held back: its size. */
#define DEFERRED_HEADER_BYTES 4

static void hold_back(struct connection *connection, struct writer *message)
{
    size_t sealed_bytes = connection->deferred_sealed_bytes +
                          packet_sealed_bytes(message->used - DEFERRED_HEADER_BYTES);
    if (sealed_bytes > LIMIT_DEFERRED_SEALED_BYTES) {
        refuse_flood(connection);
        return;
    }
    writer_string_end(message, 0);
    connection->deferred_bytes += message->used;
    connection->deferred_sealed_bytes = sealed_bytes;
}

void message_send(struct connection *connection, struct writer *message)
{
    if (message->failed) {
        if (connection->kex.sent) {
            refuse_flood(connection);
        } else {
            connection_fail(connection, "output overflow");
        }
        return;
    }
    if (message->bytes == connection->buffers.kex.deferred + connection->deferred_bytes) {
        hold_back(connection, message);
        return;
    }
    connection->output_end += packet_seal(
        &connection->out, connection->buffers.output + connection->output_end, message->used);
    if (connection->output_end > connection->pages.output_touched) {
        connection->pages.output_touched = connection->output_end;
    }
}

void message_send_deferred(struct connection *connection)
{
    size_t done = 0;
    while (done < connection->deferred_bytes) {
        const uint8_t *size = connection->buffers.kex.deferred + done;
        const uint8_t *payload = size + DEFERRED_HEADER_BYTES;
        size_t count = big_endian_read(size);
        struct writer message = message_begin(connection, (enum ssh_message)payload[0]);
        writer_bytes(&message, payload + 1, count - 1);
        message_send(connection, &message);
        done += DEFERRED_HEADER_BYTES + count;
    }
    connection->deferred_bytes = connection->deferred_sealed_bytes = 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* False if there was an end before. */
static bool begin_end(struct connection *connection, enum ipc_end_cause cause)
{
    if (connection->end.reached) {
        return false;
    }
    connection->end.reached = true;
    connection->end.cause = cause;
    return true;
}

static void send_disconnect(struct connection *connection, enum ssh_disconnect code,
                            const char *reason)
{
    connection->end.disconnected = true;
    struct writer message = message_begin(connection, SSH_MSG_DISCONNECT);
    writer_u32(&message, code);
    writer_text(&message, reason);
    writer_text(&message, "");
    message_send(connection, &message);
}

enum ssh_phase connection_refuse(struct connection *connection, enum ssh_disconnect code,
                                 const char *format, ...)
{
    if (begin_end(connection, IPC_END_CLIENT)) {
        va_list values;
        va_start(values, format);
        vsnprintf(connection->end.reason, sizeof(connection->end.reason), format, values);
        va_end(values);
        send_disconnect(connection, code, connection->end.reason);
    }
    return SSH_PHASE_ENDED;
}

enum ssh_phase connection_leave(struct connection *connection, const char *format, ...)
{
    char *reason = connection->end.reason;
    const char *types = connection->end.types_offered;
    size_t used = 0;
    if (!begin_end(connection, IPC_END_CLIENT)) {
        return SSH_PHASE_ENDED;
    }
    if (connection->phase == SSH_PHASE_AUTH && connection->client.auth_requests > 0 &&
        !connection->client.usable_key_offered) {
        used = (size_t)snprintf(reason, sizeof(connection->end.reason),
                                "no usable key offered (%s); ", types[0] != '\0' ? types : "none");
    }
    va_list values;
    va_start(values, format);
    vsnprintf(reason + used, sizeof(connection->end.reason) - used, format, values);
    va_end(values);
    return SSH_PHASE_ENDED;
}

enum ssh_phase connection_fail(struct connection *connection, const char *reason)
{
    if (begin_end(connection, IPC_END_OURS)) {
        snprintf(connection->end.reason, sizeof(connection->end.reason), "%s", reason);
        send_disconnect(connection, SSH_DISCONNECT_BY_APPLICATION, "the server can't go on");
    }
    return SSH_PHASE_ENDED;
}
