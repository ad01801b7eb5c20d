#include "channel_poll.h"

#include "channel_exit.h"
#include "channel_stdin.h"
#include "channel_stdout.h"
#include "channel_window.h"
#include "connection.h"

/* Small messages need room as well. None may leave during our key exchange or after DISCONNECT. */
static bool may_send(const struct connection *connection)
{
    return output_room(connection) >= LIMIT_REPLY_BYTES && !connection->kex.sent &&
           !connection->ended;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static struct pollfd stdin_entry(const struct channel *channel)
{
    /* poll() reports POLLERR unasked when the program has closed its stdin, a pipe. A terminal's
     * master would report POLLHUP over and over: it is asked about only while data is queued. */
    bool queued = channel->pending.bytes > 0;
    bool waits = queued || !channel->has_pty;
    return (struct pollfd){.fd = waits ? channel->child_stdin : -1, .events = queued ? POLLOUT : 0};
}

static struct pollfd input_entry(bool waits, int fd)
{
    return (struct pollfd){.fd = waits ? fd : -1, .events = POLLIN};
}

size_t channel_poll_add(const struct connection *connection, struct pollfd *entries)
{
    size_t count = 0;
    for (size_t i = 0; i < connection->channels_used; i++) {
        const struct channel *channel = &connection->channels[i];
        if (!channel_is_live(channel)) {
            continue;
        }
        bool sends = channel_stdout_may_send(connection, channel);
        entries[count++] = stdin_entry(channel);
        entries[count++] =
            input_entry(sends && !channel->coalesces && !channel->floods, channel->child_stdout);
        entries[count++] = input_entry(sends, channel->child_stderr);
        entries[count++] = input_entry(may_send(connection), channel->child_exit);
    }
    return count;
}

bool channel_poll_awaits_socket(const struct connection *connection)
{
    for (size_t i = 0; i < connection->channels_used; i++) {
        const struct channel *channel = &connection->channels[i];
        if (channel_is_live(channel) && channel_stdout_floods(connection, channel)) {
            return true;
        }
    }
    return false;
}

void channel_poll_note(struct connection *connection, const struct pollfd *entries,
                       bool socket_has_room)
{
    for (size_t i = 0; i < connection->channels_used; i++) {
        struct channel *channel = &connection->channels[i];
        if (!channel_is_live(channel)) {
            continue;
        }
        /* POLLERR: the program has closed a pipe. POLLHUP: the last program, a terminal. */
        if ((entries[0].revents & (POLLERR | POLLHUP)) != 0) {
            channel_stdin_break(connection, channel);
        }
        bool stdout_ready = entries[1].revents != 0 || channel->coalesces ||
                            (socket_has_room && channel_stdout_floods(connection, channel));
        channel->ready = (entries[0].revents != 0 ? READY_STDIN : 0U) |
                         (stdout_ready ? READY_STDOUT : 0U) |
                         (entries[2].revents != 0 ? READY_STDERR : 0U) |
                         (entries[3].revents != 0 ? READY_EXIT : 0U);
        entries += CHANNEL_POLL_ENTRIES;
    }
}

static uint64_t next_ms(const struct connection *connection, const struct channel *channel)
{
    if (channel_stdout_is_paced(connection, channel)) {
        return pace_deadline_ms(&channel->pace);
    }
    return channel_exit_linger_ends_ms(connection, channel);
}

uint64_t channel_poll_next_ms(const struct connection *connection)
{
    uint64_t first_ms = UINT64_MAX;
    for (size_t i = 0; i < connection->channels_used; i++) {
        const struct channel *channel = &connection->channels[i];
        uint64_t channel_ms = channel_is_live(channel) ? next_ms(connection, channel) : UINT64_MAX;
        first_ms = channel_ms < first_ms ? channel_ms : first_ms;
    }
    return first_ms;
}

/* ---- the turn -------------------------------------------------------------------------------- */

static void turn(struct connection *connection, struct channel *channel)
{
    if (channel_is_live(channel)) {
        channel_stdin_drain(connection, channel);
        channel_stdout_read(connection, channel);
        if (may_send(connection)) {
            channel_exit_send(connection, channel);
            channel_stdin_send_eow(connection, channel);
        }
    }
    if (channel_is_open(channel) && may_send(connection)) {
        channel_window_return(connection, channel);
    }
}

/* The next live channel. Free numbers are skipped: their turn would always go to the same one. */
static size_t next_live(const struct connection *connection, size_t number)
{
    for (size_t i = 1; i <= connection->channels_used; i++) {
        size_t next = (number + i) % connection->channels_used;
        if (channel_is_live(&connection->channels[next])) {
            return next;
        }
    }
    return number;
}

void channel_poll_turn(struct connection *connection)
{
    /* Interactive channels are served first. Among the others, which can fill the output, another
     * one is first in each turn. */
    bool was_bulk[LIMIT_CHANNELS];
    size_t used = connection->channels_used;
    connection->first_channel = next_live(connection, connection->first_channel);
    for (size_t i = 0; i < used; i++) {
        was_bulk[i] = connection->channels[i].bulk;
    }
    for (size_t i = 0; i < 2 * used; i++) {
        size_t number = (connection->first_channel + i) % used;
        if (was_bulk[number] == (i >= used)) {
            turn(connection, &connection->channels[number]);
        }
    }
}
