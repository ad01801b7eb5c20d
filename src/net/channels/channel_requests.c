#include "net.h"

#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "ask.h"
#include "log.h"

/* The answer to a request, if it wants one. */
enum outcome {
    FAILURE,
    SUCCESS,
    MALFORMED, /* ends the connection */
};

typedef enum outcome request_handler(struct connection *connection, struct channel *channel,
                                     struct reader *message);

/* ---- before the program: terminal and environment -------------------------------------------- */

static unsigned short dimension(uint32_t value)
{
    return value > 0xffff ? 0xffff : (unsigned short)value;
}

/* Columns, rows, width and height in pixels: the order of pty-req and window-change. */
static struct winsize read_size(struct reader *message)
{
    struct winsize size = {0};
    size.ws_col = dimension(reader_u32(message));
    size.ws_row = dimension(reader_u32(message));
    size.ws_xpixel = dimension(reader_u32(message));
    size.ws_ypixel = dimension(reader_u32(message));
    return size;
}

static enum outcome on_pty_req(struct connection *connection, struct channel *channel,
                               struct reader *message)
{
    struct reader term = reader_string(message);
    struct winsize size = read_size(message);
    struct reader encoded = reader_string(message);
    struct termios modes;
    bool modes_valid = tty_modes_read(&encoded, &modes);
    if (!reader_end(message) || !modes_valid) {
        return MALFORMED;
    }
    char term_text[LIMIT_TERM_BYTES];
    if (channel->output != OUTPUT_WAITING || channel->has_pty ||
        !reader_text(&term, term_text, sizeof(term_text))) {
        return FAILURE;
    }
    int master;
    if (!ask_pty(connection, channel, &size, &modes, &master)) {
        return FAILURE;
    }
    channel->has_pty = true;
    channel_stdout_open(channel, master, -1);
    memcpy(channel->term, term_text, sizeof(term_text));
    return SUCCESS;
}

static enum outcome on_env(struct connection *connection, struct channel *channel,
                           struct reader *message)
{
    struct reader name = reader_string(message);
    struct reader value = reader_string(message);
    if (!reader_end(message)) {
        return MALFORMED;
    }
    size_t room = sizeof(channel->environment) - channel->environment_bytes;
    if (channel->output != OUTPUT_WAITING || connection->options->forced ||
        connection->client.forced ||
        !environment_allows((const char *)name.bytes, name.left, (const char *)value.bytes,
                            value.left) ||
        name.left + value.left + 2 > room) {
        return FAILURE;
    }
    struct writer entry;
    writer_init(&entry, channel->environment + channel->environment_bytes, room);
    writer_bytes(&entry, name.bytes, name.left);
    writer_u8(&entry, '=');
    writer_bytes(&entry, value.bytes, value.left);
    writer_u8(&entry, '\0');
    channel->environment_bytes += entry.used;
    return SUCCESS;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* "shell" has no field, "exec" a command, "subsystem" a name. */
static enum outcome request_program(struct connection *connection, struct channel *channel,
                                    enum ipc_session_kind kind, struct reader *message)
{
    struct reader command = kind == IPC_SESSION_SHELL ? *message : reader_string(message);
    if (!reader_end(message)) {
        return MALFORMED;
    }
    if (channel->output != OUTPUT_WAITING || reader_has_nul(&command)) {
        return FAILURE;
    }
    if (command.left > LIMIT_COMMAND_BYTES) {
        /* The client only sees that its request failed. */
        char text[LIMIT_NOTE_BYTES + 1];
        snprintf(text, sizeof(text), "refused a command of %zu bytes: it may have %d", command.left,
                 LIMIT_COMMAND_BYTES);
        ask_note(connection, LOG_EVENT, text);
        return FAILURE;
    }
    int fds[IPC_REPLY_DESCRIPTORS];
    if (!ask_spawn(connection, channel, kind, command.bytes, command.left, fds)) {
        return FAILURE;
    }
    if (!channel->has_pty) {
        channel_stdout_open(channel, fds[1], fds[2]);
    }
    channel_stdin_start(connection, channel, channel->has_pty ? channel->child_stdout : fds[0]);
    channel_exit_start(channel, fds[IPC_REPLY_DESCRIPTORS - 1]);
    /* The first program runs: the kernel may delay acknowledgements again. */
    connection->socket.quickack = false;
    connection->pages.begun_ms = connection->now_ms;
    connection_mark_used(connection);
    return SUCCESS;
}

/* ---- while it runs --------------------------------------------------------------------------- */

static bool has_terminal(const struct channel *channel)
{
    return channel->has_pty && channel->child_stdout >= 0;
}

static enum outcome on_window_change(struct connection *connection, struct channel *channel,
                                     struct reader *message)
{
    (void)connection;
    struct winsize size = read_size(message);
    if (!reader_end(message)) {
        return MALFORMED;
    }
    bool done = has_terminal(channel) && ioctl(channel->child_stdout, TIOCSWINSZ, &size) == 0;
    return done ? SUCCESS : FAILURE;
}

static enum outcome on_signal(struct connection *connection, struct channel *channel,
                              struct reader *message)
{
    struct reader name = reader_string(message);
    if (!reader_end(message)) {
        return MALFORMED;
    }
    uint32_t number = channel_exit_signal_number(&name);
    if (number == 0 || channel->child_exit < 0) {
        return FAILURE;
    }
    return ask_signal(connection, channel, number) ? SUCCESS : FAILURE;
}

/* RFC 4335. A pseudo-terminal has no line on which to send a break: this does what the tty layer
 * would do with one (termios(3), BRKINT and IGNBRK). */
static enum outcome on_break(struct connection *connection, struct channel *channel,
                             struct reader *message)
{
    (void)connection;
    reader_u32(message); /* length in milliseconds */
    if (!reader_end(message)) {
        return MALFORMED;
    }
    struct termios modes;
    if (!has_terminal(channel) || tcgetattr(channel->child_stdout, &modes) != 0) {
        return FAILURE;
    }
    if ((modes.c_iflag & IGNBRK) != 0) {
        return SUCCESS;
    }
    if ((modes.c_iflag & BRKINT) != 0) {
        return ioctl(channel->child_stdout, TIOCSIG, SIGINT) == 0 ? SUCCESS : FAILURE;
    }
    static const uint8_t nul = 0;
    return write(channel->child_stdout, &nul, 1) == 1 ? SUCCESS : FAILURE;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct request {
    char type[sizeof("window-change")];
    uint8_t program; /* if there is no handler: starts one of this enum ipc_session_kind */
    request_handler *handler;
} requests[] = {
    {"pty-req", 0, on_pty_req},
    {"env", 0, on_env},
    {"shell", IPC_SESSION_SHELL, NULL},
    {"exec", IPC_SESSION_EXEC, NULL},
    {"subsystem", IPC_SESSION_SUBSYSTEM, NULL},
    {"window-change", 0, on_window_change},
    {"signal", 0, on_signal},
    {"break", 0, on_break},
};

static enum outcome handle_request(struct connection *connection, struct channel *channel,
                                   const struct reader *type, struct reader *message)
{
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        const struct request *request = &requests[i];
        if (reader_is(type, request->type)) {
            return request->handler != NULL
                       ? request->handler(connection, channel, message)
                       : request_program(connection, channel, request->program, message);
        }
    }
    /* Unknown, keepalive@openssh.com, and forwarding (x11-req, auth-agent-req@openssh.com). */
    channel_note_forwarding(connection, type);
    return FAILURE;
}

enum ssh_phase channel_on_request(struct connection *connection, struct reader *message)
{
    struct channel *channel = channel_read_open(connection, message);
    if (channel == NULL) {
        return SSH_PHASE_ENDED;
    }
    struct reader type = reader_string(message);
    bool want_reply = reader_bool(message);
    if (message->failed) {
        return messages_refuse_malformed(connection, "CHANNEL_REQUEST");
    }
    if (channel->output == OUTPUT_CLOSED) {
        return connection->phase; /* it crossed our CLOSE and gets no answer */
    }
    channel_stdin_finish_batch(connection);
    enum outcome outcome = handle_request(connection, channel, &type, message);
    if (outcome == MALFORMED) {
        return messages_refuse_malformed(connection, "CHANNEL_REQUEST");
    }
    /* Nothing may follow the DISCONNECT of a request that could not be passed on. */
    if (want_reply && !connection->end.reached) {
        channel_send(connection, channel,
                     outcome == SUCCESS ? SSH_MSG_CHANNEL_SUCCESS : SSH_MSG_CHANNEL_FAILURE);
    }
    return connection->phase;
}
