#include "net.h"

#include <stdio.h>
#include <sys/ioctl.h>

enum { LOGIN, IDLE, LIFE, WARNING, KEEPALIVE, DEADLINES };

/* UINT64_MAX for never: `seconds` of 0 are no limit. */
static uint64_t seconds_after(uint64_t since_ms, unsigned seconds, bool applies)
{
    return applies && seconds > 0 ? since_ms + seconds * 1000ULL : UINT64_MAX;
}

static void find_deadlines(const struct connection *connection, uint64_t due_ms[static DEADLINES])
{
    const struct net_options *options = connection->options;
    uint64_t start_ms = connection->times.start_ms;
    bool open = connection->phase == SSH_PHASE_OPEN;
    /* A key exchange that began after the login returns there. */
    bool logged_in = open || connection->resume == SSH_PHASE_OPEN;
    /* The monitor enforces this one and LIFE. Here they let us tell the client why it is
     * disconnected. */
    due_ms[LOGIN] = seconds_after(start_ms, options->login_seconds, !logged_in);
    due_ms[IDLE] = seconds_after(connection->times.used_ms, options->idle_seconds, logged_in);
    due_ms[LIFE] = seconds_after(start_ms, options->life_seconds, logged_in);
    /* A short life has no warning: it would come at once. */
    unsigned warned_after = options->life_seconds > LIMIT_WARNING_SECONDS
                                ? options->life_seconds - LIMIT_WARNING_SECONDS
                                : 0;
    due_ms[WARNING] = seconds_after(start_ms, warned_after, open && !connection->times.warned);
    /* Any data of the client's answers a keepalive. */
    uint64_t heard_ms = connection->times.read_ms;
    uint64_t asked_ms = connection->times.asked_alive_ms;
    due_ms[KEEPALIVE] = seconds_after(heard_ms > asked_ms ? heard_ms : asked_ms,
                                      options->keepalive_seconds, logged_in);
}

/* ---- output on its way ----------------------------------------------------------------------- */

/* All output so far, with what the socket has not taken yet; modulo 2^32, as all of these. */
static uint32_t output_bytes(const struct connection *connection)
{
    return (uint32_t)(connection->socket.bytes_out + connection->output_end -
                      connection->output_start);
}

/* True if output up to `end_bytes` is still arriving: not all of it has arrived, but more than at
 * the last look. On a slow link the kernel and we hold output for minutes. Without TCP, output
 * counts as arrived when the socket has taken it. For sockets tcp(7) calls the request SIOCOUTQ. */
static bool is_under_way(const struct connection *connection, uint32_t end_bytes,
                         uint32_t *taken_bytes)
{
    int unacknowledged = 0;
    uint32_t before = *taken_bytes;
    if (connection->socket.tcp && ioctl(STDOUT_FILENO, TIOCOUTQ, &unacknowledged) != 0) {
        unacknowledged = 0;
    }
    *taken_bytes = (uint32_t)connection->socket.bytes_out - (uint32_t)unacknowledged;
    return (int32_t)(end_bytes - *taken_bytes) > 0 && *taken_bytes != before;
}

/* ---- what is due ----------------------------------------------------------------------------- */

static void warn_terminals(struct connection *connection)
{
    char text[80];
    snprintf(text, sizeof(text), "\r\nwrensshd: this connection ends in %d seconds\r\n",
             LIMIT_WARNING_SECONDS);
    connection->times.warned = true;
    for (size_t i = 0; i < connection->channels_used; i++) {
        struct channel *channel = &connection->channels[i];
        if (channel_is_live(channel) && channel->has_pty) {
            channel_stdout_tell(connection, channel, text);
        }
    }
}

/* OpenSSH's keepalive (its PROTOCOL): a request that no client knows, so that each refuses it. The
 * refusal is the answer. Nothing is sent to a client that does not read our output, nor in a key
 * exchange: our KEXINIT asks as well. While a keepalive waits behind other output that the client
 * is reading, its time has not begun. */
static void ask_alive(struct connection *connection)
{
    bool heard = connection->times.read_ms >= connection->times.asked_alive_ms;
    bool under_way =
        is_under_way(connection, connection->times.asked_bytes, &connection->times.alive_taken);
    connection->times.asked_alive_ms = connection->now_ms;
    if (heard) {
        connection->times.keepalives = 0;
    } else if (under_way) {
        return;
    }
    if (connection->times.keepalives == LIMIT_KEEPALIVES) {
        connection_leave(connection, "client did not answer %d keepalives", LIMIT_KEEPALIVES);
        return;
    }
    connection->times.keepalives++;
    if (output_room(connection) >= LIMIT_REPLY_BYTES && !connection->kex.sent) {
        struct writer message = message_begin(connection, SSH_MSG_GLOBAL_REQUEST);
        writer_text(&message, "keepalive@openssh.com");
        writer_bool(&message, true);
        message_send(connection, &message);
    }
    connection->times.asked_bytes = output_bytes(connection);
}

static void end_if_idle(struct connection *connection)
{
    if (is_under_way(connection, output_bytes(connection), &connection->times.idle_taken)) {
        connection_mark_used(connection);
        return;
    }
    connection_refuse(connection, SSH_DISCONNECT_BY_APPLICATION, "idle for %u s",
                      connection->options->idle_seconds);
}

void deadlines_check(struct connection *connection)
{
    const struct net_options *options = connection->options;
    uint64_t now_ms = connection->now_ms;
    uint64_t due_ms[DEADLINES];
    find_deadlines(connection, due_ms);
    if (now_ms >= due_ms[LOGIN]) {
        connection_refuse(connection, SSH_DISCONNECT_BY_APPLICATION, "login deadline of %u s",
                          options->login_seconds);
    }
    if (now_ms >= due_ms[IDLE]) {
        end_if_idle(connection);
    }
    if (now_ms >= due_ms[LIFE]) {
        connection_refuse(connection, SSH_DISCONNECT_BY_APPLICATION, "longest life of %u s",
                          options->life_seconds);
    }
    if (!connection->end.reached && now_ms >= due_ms[WARNING]) {
        warn_terminals(connection);
    }
    if (!connection->end.reached && now_ms >= due_ms[KEEPALIVE]) {
        ask_alive(connection);
    }
}

uint64_t deadlines_next_ms(const struct connection *connection)
{
    uint64_t due_ms[DEADLINES];
    uint64_t next_ms = UINT64_MAX;
    find_deadlines(connection, due_ms);
    for (size_t i = 0; i < DEADLINES; i++) {
        next_ms = earlier(next_ms, due_ms[i]);
    }
    return next_ms;
}
