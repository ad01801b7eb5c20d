#include "session.h"

#include <string.h>

#include "client.h"
#include "fail.h"
#include "measure.h"

/* What one packet takes of us: number, channel, length. */
#define DATA_HEADER_BYTES 9

static uint32_t number_of(const struct client *client, const struct session *session)
{
    return (uint32_t)(session - client->sessions);
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct session *session_ask(struct client *client)
{
    if (client->session_count == SESSION_MAX) {
        fail("session", "more than %d sessions", SESSION_MAX);
    }
    while (client->login_first && !client->login.done) {
        client_turn(client, true);
    }
    struct session *session = &client->sessions[client->session_count++];
    session->window = client->options->window;
    client_say(client, "bsuuu", SSH_MSG_CHANNEL_OPEN, "session", number_of(client, session),
               session->window, LIMIT_CHANNEL_PACKET_BYTES);
    timeline_ask(&client->timeline, QUESTION_CHANNEL);
    return session;
}

void session_run(struct client *client, struct session *session, const char *command, bool pty)
{
    client_await(client, &session->open);
    client->place = "session";
    if (pty) {
        client_say(client, "busbsuuuud", SSH_MSG_CHANNEL_REQUEST, session->remote, "pty-req", true,
                   "xterm", 80, 24, 0, 0, "", (size_t)1); /* no modes: TTY_OP_END */
        session->unanswered++;
    }
    client_say(client, "busbs", SSH_MSG_CHANNEL_REQUEST, session->remote, "exec", true, command);
    session->unanswered++;
    session->asked_ns = measure_now_ns();
    timeline_ask(&client->timeline, QUESTION_COMMAND);
}

void session_finish(struct client *client, struct session *session)
{
    client_await(client, &session->close_received);
    if (session->signal[0] != '\0') {
        fail("session", "the command was killed by signal %s", session->signal);
    }
    if (!session->has_status) {
        fail("session", "the channel was closed without an exit status");
    }
    if (session->status != 0) {
        fail("session", "the command ended with status %u", (unsigned)session->status);
    }
}

/* ---- sending --------------------------------------------------------------------------------- */

static uint32_t smallest(uint64_t wanted, uint32_t window, uint32_t packet)
{
    uint32_t limit = window < packet ? window : packet;
    return wanted < limit ? (uint32_t)wanted : limit;
}

static void send_zeros(struct client *client, struct session *session, uint32_t count)
{
    static const uint8_t zeros[LIMIT_CHANNEL_PACKET_BYTES];
    link_say(&client->link, "bud", SSH_MSG_CHANNEL_DATA, session->remote, zeros, (size_t)count);
    session->to_send -= count;
    session->remote_window -= count;
}

/* True if the batch is full before the session's data or window is used up. */
static bool send_data(struct client *client, struct session *session)
{
    while (session->to_send > 0 && session->remote_window > 0) {
        if (!link_takes_more(&client->link)) {
            return true;
        }
        send_zeros(client, session,
                   smallest(session->to_send, session->remote_window, session->remote_packet));
    }
    if (session->to_send == 0 && session->eof_due && !session->eof_sent) {
        link_say(&client->link, "bu", SSH_MSG_CHANNEL_EOF, session->remote);
        session->eof_sent = true;
    }
    return false;
}

bool session_send_due(struct client *client)
{
    bool more = false;
    for (size_t i = 0; i < client->session_count; i++) {
        struct session *session = &client->sessions[i];
        if (session->close_sent || session->asked_ns == 0) {
            continue;
        }
        if (session->close_received) {
            link_say(&client->link, "bu", SSH_MSG_CHANNEL_CLOSE, session->remote);
            session->close_sent = true;
            continue;
        }
        if (session->owed >= session->window / 2) {
            link_say(&client->link, "buu", SSH_MSG_CHANNEL_WINDOW_ADJUST, session->remote,
                     session->owed);
            session->owed = 0;
        }
        more |= send_data(client, session);
    }
    return more;
}

/* ---- answers and data ------------------------------------------------------------------------ */

static struct session *named(struct client *client, struct reader *message)
{
    uint32_t number = reader_u32(message);
    if (message->failed || number >= client->session_count) {
        fail("session", "the server names a channel that there is not");
    }
    return &client->sessions[number];
}

void session_on_confirmation(struct client *client, struct reader *message)
{
    struct session *session = named(client, message);
    session->remote = reader_u32(message);
    session->remote_window = reader_u32(message);
    session->remote_packet = reader_u32(message);
    if (!reader_end(message) || session->open || session->remote_packet == 0) {
        fail("session", "the server's confirmation is malformed");
    }
    if (session->remote_packet > LIMIT_CHANNEL_PACKET_BYTES) {
        session->remote_packet = LIMIT_CHANNEL_PACKET_BYTES;
    }
    session->open = true;
    timeline_mark(&client->timeline, MARK_CHANNEL);
    timeline_answer(&client->timeline, QUESTION_CHANNEL);
}

void session_on_open_failure(struct client *client, struct reader *message)
{
    char text[128];
    named(client, message);
    uint32_t reason = reader_u32(message);
    struct reader description = reader_string(message);
    fail("session", "the server refuses channel %zu (%u): %s", client->session_count,
         (unsigned)reason, reader_text(&description, text, sizeof(text)) ? text : "(no text)");
}

void session_on_window_adjust(struct client *client, struct reader *message)
{
    struct session *session = named(client, message);
    uint32_t count = reader_u32(message);
    if (!reader_end(message) || count > UINT32_MAX - session->remote_window) {
        fail("session", "the server's WINDOW_ADJUST is malformed");
    }
    session->remote_window += count;
}

static uint32_t take_data(struct client *client, struct session *session, struct reader *message)
{
    struct reader data = reader_string(message);
    if (!reader_end(message) || data.left > session->window - session->owed) {
        fail("session", "the server's data is malformed or beyond the window");
    }
    session->owed += (uint32_t)data.left;
    if (session->take != NULL) {
        session->take(&data);
    }
    timeline_answer(&client->timeline, QUESTION_COMMAND);
    timeline_mark(&client->timeline, MARK_OUTPUT);
    return (uint32_t)data.left;
}

void session_on_data(struct client *client, struct reader *message)
{
    struct session *session = named(client, message);
    session->bytes += take_data(client, session, message);
}

void session_on_extended_data(struct client *client, struct reader *message)
{
    struct session *session = named(client, message);
    reader_u32(message);
    session->error_bytes += take_data(client, session, message);
}

void session_on_eof(struct client *client, struct reader *message)
{
    named(client, message);
}

void session_on_close(struct client *client, struct reader *message)
{
    struct session *session = named(client, message);
    session->close_received = true;
    session->closed_ns = measure_now_ns();
    timeline_mark(&client->timeline, MARK_CLOSED);
}

void session_on_request(struct client *client, struct reader *message)
{
    struct session *session = named(client, message);
    struct reader type = reader_string(message);
    reader_bool(message);
    if (reader_is(&type, "exit-status")) {
        session->status = reader_u32(message);
        session->has_status = true;
    } else if (reader_is(&type, "exit-signal")) {
        struct reader name = reader_string(message);
        if (!reader_text(&name, session->signal, sizeof(session->signal))) {
            strcpy(session->signal, "(no name)");
        }
    } else {
        return;
    }
    timeline_answer(&client->timeline, QUESTION_COMMAND);
    timeline_mark(&client->timeline, MARK_EXIT);
}

void session_on_success(struct client *client, struct reader *message)
{
    struct session *session = named(client, message);
    if (session->unanswered == 0) {
        fail("session", "the server answers what was not asked");
    }
    session->unanswered--;
}

void session_on_failure(struct client *client, struct reader *message)
{
    named(client, message);
    fail("session", "the server refuses the terminal or the command");
}
