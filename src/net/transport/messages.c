#include "net.h"

#include <stdio.h>

#include "ask.h"
#include "log.h"

enum ssh_phase messages_refuse_malformed(struct connection *connection, const char *name)
{
    return connection_refuse(connection, SSH_DISCONNECT_PROTOCOL_ERROR, "malformed %s", name);
}

enum ssh_phase messages_at_end(struct connection *connection, const struct reader *message,
                               const char *name)
{
    return reader_end(message) ? connection->phase : messages_refuse_malformed(connection, name);
}

enum ssh_phase messages_on_disconnect(struct connection *connection, struct reader *message)
{
    uint32_t code = reader_u32(message);
    struct reader description = reader_string(message);
    return connection_leave(connection, "client disconnected (%u): %.*s", code,
                            (int)smaller(description.left, 150),
                            description.left > 0 ? (const char *)description.bytes : "");
}

enum ssh_phase messages_on_ignore(struct connection *connection, struct reader *message)
{
    reader_string(message);
    return messages_at_end(connection, message, "IGNORE");
}

enum ssh_phase messages_on_unimplemented(struct connection *connection, struct reader *message)
{
    reader_u32(message);
    return messages_at_end(connection, message, "UNIMPLEMENTED");
}

enum ssh_phase messages_on_debug(struct connection *connection, struct reader *message)
{
    reader_bool(message);
    struct reader text = reader_string(message);
    reader_string(message); /* language */
    if (!reader_end(message)) {
        return messages_refuse_malformed(connection, "DEBUG");
    }
    if (connection->options->verbosity > 1) {
        char note[LIMIT_NOTE_BYTES + 1];
        snprintf(note, sizeof(note), "client's debug message: %.*s", (int)smaller(text.left, 150),
                 text.left > 0 ? (const char *)text.bytes : "");
        ask_note(connection, LOG_TRACE, note);
    }
    return connection->phase;
}

enum ssh_phase messages_on_service_request(struct connection *connection, struct reader *message)
{
    struct reader service = reader_string(message);
    if (!reader_end(message)) {
        return messages_refuse_malformed(connection, "SERVICE_REQUEST");
    }
    if (!reader_is(&service, "ssh-userauth")) {
        return connection_refuse(connection, SSH_DISCONNECT_SERVICE_NOT_AVAILABLE,
                                 "only the ssh-userauth service can be requested");
    }
    struct writer answer = message_begin(connection, SSH_MSG_SERVICE_ACCEPT);
    writer_text(&answer, "ssh-userauth");
    message_send(connection, &answer);
    return SSH_PHASE_AUTH;
}

enum ssh_phase messages_on_ext_info(struct connection *connection, struct reader *message)
{
    uint32_t count = reader_u32(message);
    /* We use none of the client's extensions. Reading past the end stops the loop. */
    for (uint32_t i = 0; i < count && !message->failed; i++) {
        reader_string(message);
        reader_string(message);
    }
    return messages_at_end(connection, message, "EXT_INFO");
}

enum ssh_phase messages_on_ping(struct connection *connection, struct reader *message)
{
    struct reader data = reader_string(message);
    if (!reader_end(message)) {
        return messages_refuse_malformed(connection, "PING");
    }
    if (data.left > LIMIT_PACKET_BYTES) {
        return connection_refuse(connection, SSH_DISCONNECT_PROTOCOL_ERROR, "PING is too long");
    }
    struct writer answer = message_begin(connection, SSH_MSG_PONG);
    writer_string(&answer, data.bytes, data.left);
    message_send(connection, &answer);
    return connection->phase;
}

enum ssh_phase messages_on_unwanted_reply(struct connection *connection, struct reader *message)
{
    (void)message; /* its fields depend on the request */
    return connection->phase;
}

void messages_send_unimplemented(struct connection *connection, uint32_t sequence)
{
    struct writer message = message_begin(connection, SSH_MSG_UNIMPLEMENTED);
    writer_u32(&message, sequence);
    message_send(connection, &message);
}

void messages_send_ext_info(struct connection *connection)
{
    struct writer message = message_begin(connection, SSH_MSG_EXT_INFO);
    writer_u32(&message, 3);
    writer_text(&message, "server-sig-algs");
    writer_text(&message,
                SSH_ED25519 "," SSH_SK_ED25519 "," SSH_ED25519_CERT "," SSH_SK_ED25519_CERT);
    writer_text(&message, "publickey-hostbound@openssh.com");
    writer_text(&message, "0");
    writer_text(&message, "ping@openssh.com");
    writer_text(&message, "0");
    message_send(connection, &message);
}
