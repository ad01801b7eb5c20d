#include "deadlines.h"

#include <stdio.h>

#include "channel_stdout.h"
#include "kex.h"

static bool is_rekeying(const struct connection *connection)
{
    return connection->kex.session_id_bytes > 0 &&
           (connection->kex.sent || connection->phase == SSH_PHASE_REKEY_NEWKEYS);
}

/* A key exchange that began after the login returns there. */
static bool is_logged_in(const struct connection *connection)
{
    return connection->phase == SSH_PHASE_OPEN || connection->resume == SSH_PHASE_OPEN;
}

/* ---- key exchange, login, idle time ---------------------------------------------------------- */

static uint64_t rekey_ms(const struct connection *connection)
{
    return is_rekeying(connection) ? connection->kex.asked_ms + LIMIT_REKEY_ANSWER_SECONDS * 1000ULL
                                   : UINT64_MAX;
}

/* The monitor enforces the deadline; this one lets us tell the client why it is disconnected. */
static uint64_t before_login_ms(const struct connection *connection)
{
    return is_logged_in(connection)
               ? UINT64_MAX
               : connection->times.start_ms + connection->options->login_seconds * 1000ULL;
}

static uint64_t idle_ms(const struct connection *connection)
{
    const struct net_options *options = connection->options;
    return connection->phase == SSH_PHASE_OPEN && options->idle_seconds > 0
               ? connection->times.used_ms + options->idle_seconds * 1000ULL
               : UINT64_MAX;
}

/* ---- the longest life ------------------------------------------------------------------------ */

/* The monitor enforces this one as well. */
static uint64_t life_ms(const struct connection *connection)
{
    const struct net_options *options = connection->options;
    return is_logged_in(connection) && options->life_seconds > 0
               ? connection->times.start_ms + options->life_seconds * 1000ULL
               : UINT64_MAX;
}

/* A short life has no warning: it would come at once. */
static uint64_t warning_ms(const struct connection *connection)
{
    return connection->phase == SSH_PHASE_OPEN && !connection->times.warned &&
                   connection->options->life_seconds > LIMIT_WARNING_SECONDS
               ? life_ms(connection) - LIMIT_WARNING_SECONDS * 1000ULL
               : UINT64_MAX;
}

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

/* ---- keepalive ------------------------------------------------------------------------------- */

/* Any data of the client's answers a keepalive. A key exchange has a deadline of its own. */
static uint64_t keepalive_ms(const struct connection *connection)
{
    const struct net_options *options = connection->options;
    uint64_t since_ms = connection->times.read_ms > connection->times.asked_alive_ms
                            ? connection->times.read_ms
                            : connection->times.asked_alive_ms;
    return connection->phase == SSH_PHASE_OPEN && !is_rekeying(connection) &&
                   options->keepalive_seconds > 0
               ? since_ms + options->keepalive_seconds * 1000ULL
               : UINT64_MAX;
}

/* OpenSSH's keepalive (its PROTOCOL): a request that no client knows, so that each refuses it. The
 * refusal is the answer. Nothing is sent to a client that does not read our output. */
static void ask_alive(struct connection *connection)
{
    if (connection->times.read_ms >= connection->times.asked_alive_ms) {
        connection->times.keepalives = 0;
    }
    if (connection->times.keepalives == LIMIT_KEEPALIVES) {
        connection_leave(connection, "client did not answer %d keepalives", LIMIT_KEEPALIVES);
        return;
    }
    connection->times.keepalives++;
    connection->times.asked_alive_ms = connection->now_ms;
    if (output_room(connection) >= LIMIT_REPLY_BYTES) {
        struct writer message = message_begin(connection, SSH_MSG_GLOBAL_REQUEST);
        writer_text(&message, "keepalive@openssh.com");
        writer_bool(&message, true);
        message_send(connection, &message);
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

void deadlines_check(struct connection *connection)
{
    const struct net_options *options = connection->options;
    uint64_t now_ms = connection->now_ms;
    if (now_ms >= rekey_ms(connection)) {
        connection_refuse(connection, SSH_DISCONNECT_KEY_EXCHANGE_FAILED,
                          "the client did not finish a key exchange in time");
    }
    if (now_ms >= before_login_ms(connection)) {
        connection_refuse(connection, SSH_DISCONNECT_BY_APPLICATION, "login deadline of %u s",
                          options->login_seconds);
    }
    if (now_ms >= idle_ms(connection)) {
        connection_refuse(connection, SSH_DISCONNECT_BY_APPLICATION, "idle for %u s",
                          options->idle_seconds);
    }
    if (now_ms >= life_ms(connection)) {
        connection_refuse(connection, SSH_DISCONNECT_BY_APPLICATION, "longest life of %u s",
                          options->life_seconds);
    }
    if (!connection->end.reached && now_ms >= warning_ms(connection)) {
        warn_terminals(connection);
    }
    if (!connection->end.reached && now_ms >= keepalive_ms(connection)) {
        ask_alive(connection);
    }
}

uint64_t deadlines_next_ms(const struct connection *connection)
{
    uint64_t next_ms = is_rekeying(connection) || !is_logged_in(connection)
                           ? earlier(rekey_ms(connection), before_login_ms(connection))
                           : connection->kex.since_ms + rekey_after_ms;
    next_ms = earlier(next_ms, idle_ms(connection));
    next_ms = earlier(next_ms, life_ms(connection));
    next_ms = earlier(next_ms, warning_ms(connection));
    return earlier(next_ms, keepalive_ms(connection));
}
