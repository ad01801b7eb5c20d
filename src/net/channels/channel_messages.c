#include "net.h"

#include "ask.h"
#include "log.h"

/* ---- forwarding, which is always refused ----------------------------------------------------- */

/* How a type begins (RFC 4254 sections 6.3 and 7, OpenSSH's PROTOCOL), and the text for the log. */
static const struct {
    char type[6]; /* without a NUL */
    char text[36];
} kinds[] = {
    {"direct", "no port forwarding (ssh -J, -L, -W)"}, /* -tcpip and -streamlocal */
    {"tcpip-", "no remote port forwarding (ssh -R)"},
    {"stream", "no remote socket forwarding (-R)"},
    {"auth-a", "no agent forwarding (ssh -A)"},
    {"x11-re", "no X11 forwarding (ssh -X)"},
};

void channel_note_forwarding(struct connection *connection, const struct reader *type)
{
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (type->left > sizeof(kinds[i].type) &&
            memcmp(type->bytes, kinds[i].type, sizeof(kinds[i].type)) == 0 &&
            (connection->client.forwardings & 1U << i) == 0) {
            connection->client.forwardings |= 1U << i;
            ask_note(connection, LOG_EVENT, kinds[i].text);
        }
    }
}

/* ---- global requests (RFC 4254 section 4) ---------------------------------------------------- */

enum ssh_phase channel_on_global_request(struct connection *connection, struct reader *message)
{
    struct reader type = reader_string(message);
    bool want_reply = reader_bool(message);
    if (message->failed) {
        return messages_refuse_malformed(connection, "GLOBAL_REQUEST");
    }
    if (reader_is(&type, HOSTKEYS_PROVE)) {
        return hostkeys_on_prove(connection, message, want_reply);
    }
    /* Forwarding is always refused, and any answer will do for a keepalive. */
    bool done = reader_is(&type, "no-more-sessions@openssh.com");
    if (done) {
        connection->client.no_more_sessions = true;
    }
    if (want_reply) {
        struct writer answer =
            message_begin(connection, done ? SSH_MSG_REQUEST_SUCCESS : SSH_MSG_REQUEST_FAILURE);
        message_send(connection, &answer);
    }
    channel_note_forwarding(connection, &type);
    return connection->phase;
}

/* ---- opening (RFC 4254 section 5.1) ---------------------------------------------------------- */

enum ssh_phase channel_on_open(struct connection *connection, struct reader *message)
{
    struct reader type = reader_string(message);
    uint32_t remote = reader_u32(message);
    uint32_t window = reader_u32(message);
    uint32_t packet = reader_u32(message);
    bool is_session = reader_is(&type, "session");
    /* Other types have fields of their own after these. */
    if (message->failed || (is_session && !reader_end(message))) {
        return messages_refuse_malformed(connection, "CHANNEL_OPEN");
    }
    struct channel *channel = channel_find_free(connection);
    enum ssh_open_failure code = SSH_OPEN_ADMINISTRATIVELY_PROHIBITED;
    const char *refusal = NULL;
    if (!is_session) {
        refusal = "this server has no forwarding, only sessions";
    } else if (connection->client.no_more_sessions) {
        refusal = "no-more-sessions is in effect";
    } else if (channel == NULL) {
        code = SSH_OPEN_RESOURCE_SHORTAGE;
        refusal = "too many open sessions";
    } else if (packet < LIMIT_CHANNEL_PACKET_MIN_BYTES) {
        refusal = "the maximum packet size is too small";
    }
    struct writer answer =
        message_begin(connection, refusal != NULL ? SSH_MSG_CHANNEL_OPEN_FAILURE
                                                  : SSH_MSG_CHANNEL_OPEN_CONFIRMATION);
    writer_u32(&answer, remote);
    if (refusal != NULL) {
        writer_u32(&answer, code);
        writer_text(&answer, refusal);
        writer_text(&answer, "");
    } else {
        channel_open(connection, channel, remote, window, packet);
        writer_u32(&answer, channel_number(connection, channel));
        writer_u32(&answer, channel->window);
        writer_u32(&answer, LIMIT_CHANNEL_PACKET_BYTES);
    }
    message_send(connection, &answer);
    channel_note_forwarding(connection, &type);
    return connection->phase;
}

/* ---- windows and data (RFC 4254 section 5.2) ------------------------------------------------- */

/* Some clients return window after their CLOSE: for a FREE channel this is ignored. A number that
 * we never give to a channel is refused. */
enum ssh_phase channel_on_window_adjust(struct connection *connection, struct reader *message)
{
    struct channel *channel = channel_read_any(connection, message);
    if (channel == NULL) {
        return SSH_PHASE_ENDED;
    }
    uint32_t more = reader_u32(message);
    if (!reader_end(message)) {
        return messages_refuse_malformed(connection, "CHANNEL_WINDOW_ADJUST");
    }
    if (!channel_is_open(channel)) {
        return connection->phase;
    }
    if (!channel_stdout_adjust(connection, channel, more)) {
        return connection_refuse(connection, SSH_DISCONNECT_PROTOCOL_ERROR,
                                 "window beyond 2^32-1 bytes");
    }
    return connection->phase;
}

/* Reads the data of a message and takes it off the window. NULL after ending the connection. */
static struct channel *read_data(struct connection *connection, struct reader *message,
                                 bool extended, struct reader *data)
{
    struct channel *channel = channel_read_open(connection, message);
    if (channel == NULL) {
        return NULL;
    }
    if (extended) {
        reader_u32(message); /* the type: a program has no second input, so all are discarded */
    }
    *data = reader_string(message);
    if (!reader_end(message)) {
        messages_refuse_malformed(connection, extended ? "CHANNEL_EXTENDED_DATA" : "CHANNEL_DATA");
        return NULL;
    }
    return channel_window_take(connection, channel, data->left) ? channel : NULL;
}

enum ssh_phase channel_on_data(struct connection *connection, struct reader *message)
{
    struct reader data;
    struct channel *channel = read_data(connection, message, false, &data);
    if (channel == NULL) {
        return SSH_PHASE_ENDED;
    }
    if (data.left > 0) {
        connection_mark_used(connection);
    }
    channel_stdin_add(connection, channel, data.bytes, data.left);
    return connection->phase;
}

enum ssh_phase channel_on_extended_data(struct connection *connection, struct reader *message)
{
    struct reader data;
    struct channel *channel = read_data(connection, message, true, &data);
    if (channel == NULL) {
        return SSH_PHASE_ENDED;
    }
    channel_stdin_finish_batch(connection); /* the window counts what the program has not taken */
    channel_window_consume(channel, data.left);
    channel_window_return(connection, channel);
    return connection->phase;
}

/* ---- closing (RFC 4254 section 5.3) ---------------------------------------------------------- */

/* Reads the only field of a message. The data before the message goes to its program first. NULL
 * after ending the connection. */
static struct channel *read_only_field(struct connection *connection, struct reader *message,
                                       const char *name)
{
    struct channel *channel = channel_read_open(connection, message);
    if (channel != NULL && !reader_end(message)) {
        messages_refuse_malformed(connection, name);
        return NULL;
    }
    channel_stdin_write_batch(connection);
    return channel;
}

enum ssh_phase channel_on_eof(struct connection *connection, struct reader *message)
{
    struct channel *channel = read_only_field(connection, message, "CHANNEL_EOF");
    if (channel == NULL) {
        return SSH_PHASE_ENDED;
    }
    channel_stdin_eof(connection, channel);
    return connection->phase;
}

enum ssh_phase channel_on_close(struct connection *connection, struct reader *message)
{
    struct channel *channel = read_only_field(connection, message, "CHANNEL_CLOSE");
    if (channel == NULL) {
        return SSH_PHASE_ENDED;
    }
    channel_exit_close(connection, channel);
    return connection->phase;
}

/* ---- replies (RFC 4254 section 5.4) ---------------------------------------------------------- */

enum ssh_phase channel_on_unwanted_reply(struct connection *connection, struct reader *message)
{
    reader_u32(message);
    return messages_at_end(connection, message, "CHANNEL_SUCCESS or CHANNEL_FAILURE");
}
