#include "net.h"

/* Small messages need room as well. None may leave during our key exchange or after DISCONNECT. */
static bool message_may_leave(const struct connection *connection)
{
    return output_room(connection) >= LIMIT_REPLY_BYTES && !connection->kex.sent &&
           !connection->end.reached;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Output that waits for room in the socket, not for its descriptor. */
static bool awaits_room(const struct connection *connection, const struct channel *channel)
{
    return channel->flow == FLOW_FLOODING && channel_stdout_may_send(connection, channel);
}

static void plan_entries(const struct connection *connection, const struct channel *channel,
                         struct pollfd entries[static CHANNEL_POLL_ENTRIES])
{
    bool sends = channel_stdout_may_send(connection, channel);
    bool asks = sends && channel->flow < FLOW_COALESCING;
    /* poll() reports POLLERR unasked when the program has closed its stdin, a pipe. A terminal's
     * master would report POLLHUP over and over: it is asked about only while data is queued. */
    bool queued = channel_waiting_bytes(connection, channel) > 0;
    entries[0] =
        channel_poll_entry(queued || !channel->has_pty, channel->child_stdin, queued ? POLLOUT : 0);
    entries[1] = channel_poll_entry(asks, channel->child_stdout, POLLIN);
    entries[2] = channel_poll_entry(sends, channel->child_stderr, POLLIN);
    entries[3] = channel_poll_entry(message_may_leave(connection), channel->child_exit, POLLIN);
}

struct channel_plan channel_poll_plan(const struct connection *connection, struct pollfd *entries)
{
    struct channel_plan plan = {.deadline_ms = UINT64_MAX};
    for (size_t i = 0; i < connection->channels_used; i++) {
        const struct channel *channel = &connection->channels[i];
        if (channel_is_live(channel)) {
            plan_entries(connection, channel, entries + plan.entries);
            plan.entries += CHANNEL_POLL_ENTRIES;
            uint64_t deadline_ms = channel_stdout_is_paced(connection, channel)
                                       ? pace_deadline_ms(&channel->pace)
                                       : channel_exit_linger_ends_ms(connection, channel);
            plan.deadline_ms = earlier(plan.deadline_ms, deadline_ms);
            plan.awaits_room |= awaits_room(connection, channel);
            plan.coalesces |= channel->flow == FLOW_COALESCING;
        }
    }
    uint64_t pause_ms = channel_stdin_pause_until_ms(connection);
    if (pause_ms > connection->now_ms) {
        plan.pauses = true;
        plan.deadline_ms = earlier(plan.deadline_ms, pause_ms);
    }
    return plan;
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
        bool stdout_ready = entries[1].revents != 0 || channel->flow == FLOW_COALESCING ||
                            (socket_has_room && awaits_room(connection, channel));
        bool no_stdout = entries[1].fd >= 0 && !stdout_ready;
        channel->ready = (entries[0].revents != 0 ? READY_STDIN : 0U) |
                         (stdout_ready ? READY_STDOUT : 0U) | (no_stdout ? READY_NO_STDOUT : 0U) |
                         (entries[2].revents != 0 ? READY_STDERR : 0U) |
                         (entries[3].revents != 0 ? READY_EXIT : 0U);
        entries += CHANNEL_POLL_ENTRIES;
    }
}

/* ---- the turn -------------------------------------------------------------------------------- */

static void give_turn(struct connection *connection, struct channel *channel)
{
    if (channel_is_live(channel)) {
        channel_stdin_write_queue(connection, channel);
        channel_stdout_read(connection, channel);
        if (message_may_leave(connection)) {
            channel_exit_send(connection, channel);
            channel_stdin_send_eow(connection, channel);
        }
    }
    if (channel_is_open(channel) && message_may_leave(connection)) {
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
    channel_stdin_write_batch(connection);
    size_t used = connection->channels_used;
    connection->first_channel = next_live(connection, connection->first_channel);
    for (size_t i = 0; i < used; i++) {
        was_bulk[i] = connection->channels[i].flow != FLOW_QUIET;
    }
    for (size_t i = 0; i < 2 * used; i++) {
        size_t number = (connection->first_channel + i) % used;
        if (was_bulk[number] == (i >= used)) {
            give_turn(connection, &connection->channels[number]);
        }
    }
}
