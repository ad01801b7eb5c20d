#include "channel.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "channel_stdin.h"
#include "connection.h"
#include "hostkeys.h"
#include "messages.h"
#include "reader.h"
#include "window.h"

void channel_init(struct channel *channel)
{
    /* The environment is left alone: its pages stay untouched until a client sends variables. */
    memset(channel, 0, offsetof(struct channel, environment));
    channel->child_stdin = -1;
    channel->child_stdout = -1;
    channel->child_stderr = -1;
    channel->child_exit = -1;
}

bool channel_is_open(const struct channel *channel)
{
    return channel->output != OUTPUT_FREE;
}

static uint32_t number_of(const struct connection *connection, const struct channel *channel)
{
    /* Unsigned: ARMv7 divides in a function, and in a larger one where there are signs. */
    size_t offset = (size_t)((uintptr_t)channel - (uintptr_t)connection->channels);
    return (uint32_t)(offset / sizeof(*channel));
}

static void refuse_not_open(struct connection *connection)
{
    connection_refuse(connection, SSH_DISCONNECT_PROTOCOL_ERROR,
                      "message for a channel that is not open");
}

/* The channel that the next uint32 names, open or closed; or NULL after ending the connection. */
static struct channel *find_numbered(struct connection *connection, struct reader *message)
{
    uint32_t number = reader_u32(message);
    if (message->failed || number >= LIMIT_CHANNELS) {
        refuse_not_open(connection);
        return NULL;
    }
    return &connection->channels[number];
}

static struct channel *find_channel(struct connection *connection, struct reader *message)
{
    struct channel *channel = find_numbered(connection, message);
    if (channel != NULL && !channel_is_open(channel)) {
        refuse_not_open(connection);
        return NULL;
    }
    return channel;
}

struct channel *channel_named(struct connection *connection, struct reader *message)
{
    channel_stdin_flush(connection);
    return find_channel(connection, message);
}

static void close_descriptor(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

void channel_close_stdin(struct connection *connection, struct channel *channel,
                         enum channel_input_event event)
{
    channel->input = channel_input_after(channel->input, event);
    if (channel->child_stdin != channel->child_stdout) {
        close_descriptor(&channel->child_stdin);
    }
    channel->child_stdin = -1; /* a terminal's master goes with stdout */
    channel->consumed += (uint32_t)channel->pending.bytes;
    queue_drop(&connection->pool, &channel->pending, channel->pending.bytes);
}

bool channel_widen_pipe(int fd, bool *widened)
{
    if (*widened) {
        return false;
    }
    *widened = true;
    int bytes = fcntl(fd, F_GETPIPE_SZ);
    return bytes >= 0 && bytes < LIMIT_PIPE_BYTES && fcntl(fd, F_SETPIPE_SZ, LIMIT_PIPE_BYTES) > 0;
}

static void close_child(struct connection *connection, struct channel *channel)
{
    channel_close_stdin(connection, channel, INPUT_SHUT);
    close_descriptor(&channel->child_stdout);
    close_descriptor(&channel->child_stderr);
    close_descriptor(&channel->child_exit);
}

static void send_close(struct connection *connection, const struct channel *channel)
{
    struct writer message = message_begin(connection, SSH_MSG_CHANNEL_CLOSE);
    writer_u32(&message, channel->remote);
    message_send(connection, &message);
}

void channel_output_event(struct connection *connection, struct channel *channel,
                          enum channel_output_event event)
{
    enum channel_output before = channel->output;
    enum channel_output after = channel_output_after(before, event);
    bool ends = after == OUTPUT_CLOSED || after == OUTPUT_FREE;
    channel->output = after;
    if (ends && before != OUTPUT_CLOSED) {
        close_child(connection, channel);
        send_close(connection, channel);
    }
    if (after == OUTPUT_FREE) {
        if (before != OUTPUT_WAITING || channel->has_pty) {
            ask_release(connection, number_of(connection, channel));
        }
        channel_init(channel);
    }
}

bool channel_is_live(const struct channel *channel)
{
    return channel_output_is_live(channel->output);
}

bool channel_shares(const struct connection *connection)
{
    size_t live = 0;
    for (size_t i = 0; i < connection->channels_used; i++) {
        live += channel_is_live(&connection->channels[i]);
    }
    return live > 1;
}

struct writer channel_request_begin(struct connection *connection, const struct channel *channel,
                                    const char *type)
{
    struct writer message = message_begin(connection, SSH_MSG_CHANNEL_REQUEST);
    writer_u32(&message, channel->remote);
    writer_text(&message, type);
    writer_bool(&message, false);
    return message;
}

/* ---- global requests (RFC 4254 section 4) ---------------------------------------------------- */

enum phase channel_on_global_request(struct connection *connection, struct reader *message)
{
    struct reader type = reader_string(message);
    bool want_reply = reader_bool(message);
    if (message->failed) {
        return messages_refuse_malformed(connection, "GLOBAL_REQUEST");
    }
    if (reader_is(&type, HOSTKEYS_PROVE)) {
        return hostkeys_on_prove(connection, message, want_reply);
    }
    /* Known without an answer of substance: forwarding is never done, and a keepalive wants only
     * any answer. */
    bool done = reader_is(&type, "no-more-sessions@openssh.com");
    if (done) {
        connection->no_more_sessions = true;
    }
    if (want_reply) {
        struct writer answer =
            message_begin(connection, done ? SSH_MSG_REQUEST_SUCCESS : SSH_MSG_REQUEST_FAILURE);
        message_send(connection, &answer);
    }
    return connection->phase;
}

/* ---- opening (RFC 4254 section 5.1) ---------------------------------------------------------- */

static void refuse_open(struct connection *connection, uint32_t remote, enum ssh_open_failure code,
                        const char *reason)
{
    struct writer answer = message_begin(connection, SSH_MSG_CHANNEL_OPEN_FAILURE);
    writer_u32(&answer, remote);
    writer_u32(&answer, code);
    writer_text(&answer, reason);
    writer_text(&answer, "");
    message_send(connection, &answer);
}

static struct channel *free_channel(struct connection *connection)
{
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        if (!channel_is_open(&connection->channels[i])) {
            return &connection->channels[i];
        }
    }
    return NULL;
}

static void confirm_open(struct connection *connection, const struct channel *channel)
{
    struct writer answer = message_begin(connection, SSH_MSG_CHANNEL_OPEN_CONFIRMATION);
    writer_u32(&answer, channel->remote);
    writer_u32(&answer, number_of(connection, channel));
    writer_u32(&answer, channel->window);
    writer_u32(&answer, LIMIT_CHANNEL_PACKET_BYTES);
    message_send(connection, &answer);
}

enum phase channel_on_open(struct connection *connection, struct reader *message)
{
    struct reader type = reader_string(message);
    uint32_t remote = reader_u32(message);
    uint32_t window = reader_u32(message);
    uint32_t packet = reader_u32(message);
    bool is_session = reader_is(&type, "session");
    /* Other types have fields of their own behind these. */
    if (message->failed || (is_session && !reader_end(message))) {
        return messages_refuse_malformed(connection, "CHANNEL_OPEN");
    }
    struct channel *channel = free_channel(connection);
    if (!is_session) {
        refuse_open(connection, remote, SSH_OPEN_ADMINISTRATIVELY_PROHIBITED,
                    "this server has no forwarding, only sessions");
    } else if (connection->no_more_sessions) {
        refuse_open(connection, remote, SSH_OPEN_ADMINISTRATIVELY_PROHIBITED,
                    "no more sessions, as you asked");
    } else if (channel == NULL) {
        refuse_open(connection, remote, SSH_OPEN_RESOURCE_SHORTAGE, "too many open sessions");
    } else if (packet < LIMIT_CHANNEL_PACKET_MIN_BYTES) {
        refuse_open(connection, remote, SSH_OPEN_ADMINISTRATIVELY_PROHIBITED,
                    "the maximum packet size is too small");
    } else {
        channel_init(channel);
        channel->input = INPUT_WAITING;
        channel->output = OUTPUT_WAITING;
        if (number_of(connection, channel) >= connection->channels_used) {
            connection->channels_used = number_of(connection, channel) + 1;
        }
        channel->remote = remote;
        channel->remote_window = window;
        channel->remote_packet =
            packet < LIMIT_CHANNEL_PACKET_BYTES ? packet : LIMIT_CHANNEL_PACKET_BYTES;
        channel->limit = channel->window = LIMIT_WINDOW_BYTES;
        confirm_open(connection, channel);
    }
    return connection->phase;
}

/* ---- windows and data (RFC 4254 section 5.2) ------------------------------------------------- */

/* Some clients return window after their CLOSE: that is ignored for a channel that is closed. A
 * number that we never give to a channel is another matter: no CLOSE explains it. */
enum phase channel_on_window_adjust(struct connection *connection, struct reader *message)
{
    channel_stdin_flush(connection);
    struct channel *channel = find_numbered(connection, message);
    if (channel == NULL) {
        return PHASE_ENDED;
    }
    uint32_t more = reader_u32(message);
    if (!reader_end(message)) {
        return messages_refuse_malformed(connection, "CHANNEL_WINDOW_ADJUST");
    }
    if (!channel_is_open(channel)) {
        return connection->phase;
    }
    if (more > UINT32_MAX - channel->remote_window) {
        return connection_refuse(connection, SSH_DISCONNECT_PROTOCOL_ERROR,
                                 "window beyond 2^32-1 bytes");
    }
    channel->remote_window += more;
    pace_returned(&channel->pace, more, connection->now_ms);
    return connection->phase;
}

/* Takes `count` bytes off the window the client has. */
static bool spend_window(struct connection *connection, struct channel *channel, size_t count)
{
    const char *reason = NULL;
    if (channel_input_has_eof(channel->input)) {
        reason = "data after EOF";
    } else if (count > LIMIT_CHANNEL_PACKET_BYTES) {
        reason = "data beyond the maximum packet size";
    } else if (count > channel->window) {
        reason = "data beyond the window";
    }
    if (reason != NULL) {
        connection_refuse(connection, SSH_DISCONNECT_PROTOCOL_ERROR, reason);
        return false;
    }
    channel->window -= (uint32_t)count;
    return true;
}

enum phase channel_on_data(struct connection *connection, struct reader *message)
{
    struct channel *channel = find_channel(connection, message);
    if (channel == NULL) {
        return PHASE_ENDED;
    }
    struct reader data = reader_string(message);
    if (!reader_end(message)) {
        return messages_refuse_malformed(connection, "CHANNEL_DATA");
    }
    if (!spend_window(connection, channel, data.left)) {
        return PHASE_ENDED;
    }
    connection->used_ms = connection->now_ms;
    channel_stdin_data(connection, channel, data.bytes, data.left);
    return connection->phase;
}

enum phase channel_on_extended_data(struct connection *connection, struct reader *message)
{
    struct channel *channel = channel_named(connection, message);
    if (channel == NULL) {
        return PHASE_ENDED;
    }
    reader_u32(message); /* type: a program has no second input, so none is of use */
    struct reader data = reader_string(message);
    if (!reader_end(message)) {
        return messages_refuse_malformed(connection, "CHANNEL_EXTENDED_DATA");
    }
    if (!spend_window(connection, channel, data.left)) {
        return PHASE_ENDED;
    }
    channel->consumed += (uint32_t)data.left;
    window_return(connection, channel);
    return connection->phase;
}

/* ---- closing (RFC 4254 section 5.3) ---------------------------------------------------------- */

enum phase channel_on_eof(struct connection *connection, struct reader *message)
{
    struct channel *channel = channel_named(connection, message);
    if (channel == NULL) {
        return PHASE_ENDED;
    }
    if (!reader_end(message)) {
        return messages_refuse_malformed(connection, "CHANNEL_EOF");
    }
    channel->input = channel_input_after(channel->input, INPUT_EOF);
    channel_stdin_close_drained(connection, channel);
    return connection->phase;
}

enum phase channel_on_close(struct connection *connection, struct reader *message)
{
    struct channel *channel = channel_named(connection, message);
    if (channel == NULL) {
        return PHASE_ENDED;
    }
    if (!reader_end(message)) {
        return messages_refuse_malformed(connection, "CHANNEL_CLOSE");
    }
    /* After our EOF only the exit status is due, and some clients send CLOSE without waiting for
     * it: they still get it, before our CLOSE. */
    channel_output_event(connection, channel, OUTPUT_CLOSE);
    if (channel->output == OUTPUT_LAST_STATUS) {
        channel_close_stdin(connection, channel, INPUT_SHUT);
    }
    return connection->ended ? PHASE_ENDED : connection->phase;
}

/* ---- replies (RFC 4254 section 5.4) ---------------------------------------------------------- */

enum phase channel_on_unwanted_reply(struct connection *connection, struct reader *message)
{
    reader_u32(message);
    if (!reader_end(message)) {
        return messages_refuse_malformed(connection, "CHANNEL_SUCCESS or CHANNEL_FAILURE");
    }
    return connection->phase;
}
