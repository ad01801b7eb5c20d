#include "net.h"

/* CHANNEL_DATA and CHANNEL_EXTENDED_DATA before their bytes: number, channel, type, length. */
#define DATA_HEADER_BYTES (1 + 4 + 4 + 4)

/* The largest packet with data, as it leaves. */
#define DATA_PACKET_BYTES (LIMIT_CHANNEL_PACKET_BYTES + DATA_HEADER_BYTES + PACKET_OVERHEAD_BYTES)

/* Packets of one stream in one turn: enough to fill a write, and few enough that other channels get
 * their share. Beside a dialogue it is one: a keystroke and its echo each wait for the turn in
 * which they arrive. */
#define PACKETS_A_TURN                 3
#define PACKETS_A_TURN_BESIDE_DIALOGUE 1

#define TURN_BYTES (PACKETS_A_TURN * DATA_PACKET_BYTES)
_Static_assert(TURN_BYTES <= LIMIT_UNSENT_BYTES / 2,
               "one write takes a turn's packets when poll() reports room");

/* After a pause of this length between keystrokes the next echo may wait a little longer. */
#define DIALOGUE_MS 10000

/* A program that writes more than this in one turn is a bulk transfer, not a dialogue. */
#define BULK_BYTES 4096

/* What a link of 1 Gbit/s carries in a millisecond. */
#define BYTES_A_MS 131072

/* What a client on this machine needs in addition. */
#define NEAR_BYTES 65536

/* A client may return no window because its program reads slowly, or because it collects more
 * before each WINDOW_ADJUST. Any other client returns window much sooner than this. */
#define STALL_MS 100

void channel_stdout_open(struct channel *channel, int child_stdout, int child_stderr)
{
    channel->child_stdout = child_stdout;
    channel->child_stderr = child_stderr;
}

void channel_stdout_shut(struct channel *channel)
{
    descriptors_close_one(&channel->child_stdout);
    descriptors_close_one(&channel->child_stderr);
}

/* ---- pace ------------------------------------------------------------------------------------ */

void pace_sent(struct pace *pace, uint32_t count, uint64_t now_ms)
{
    pace->in_flight += count;
    pace->moved_ms = now_ms;
    if (pace->unmeasured == 0) {
        pace->unmeasured = pace->in_flight;
        pace->sent_ms = now_ms;
    }
}

void pace_returned(struct pace *pace, uint32_t count, uint64_t now_ms)
{
    pace->adjust_bytes = count;
    pace->moved_ms = now_ms;
    pace->in_flight -= (uint32_t)smaller(count, pace->in_flight);
    if (pace->unmeasured > count) {
        pace->unmeasured -= count;
    } else if (pace->unmeasured > 0) {
        uint64_t delay_ms = now_ms - pace->sent_ms;
        pace->unmeasured = 0;
        if (!pace->delay_known || delay_ms < pace->delay_ms) {
            pace->delay_ms = (uint32_t)delay_ms;
            pace->delay_known = true;
        }
    }
}

bool pace_holds(const struct pace *pace)
{
    /* A client holds back less than one WINDOW_ADJUST, and needs data until ours arrives. */
    uint64_t most =
        (uint64_t)pace->adjust_bytes + NEAR_BYTES + (uint64_t)BYTES_A_MS * pace->delay_ms;
    return pace->delay_known && pace->in_flight >= most;
}

uint64_t pace_deadline_ms(const struct pace *pace)
{
    return pace->moved_ms + STALL_MS + 2 * (uint64_t)pace->delay_ms;
}

void pace_forget_delay(struct pace *pace)
{
    pace->delay_known = false;
    pace->unmeasured = 0;
}

/* ---- when data may leave --------------------------------------------------------------------- */

bool channel_stdout_adjust(const struct connection *connection, struct channel *channel,
                           uint32_t more)
{
    if (more > UINT32_MAX - channel->remote_window) {
        return false;
    }
    channel->remote_window += more;
    pace_returned(&channel->pace, more, connection->now_ms);
    return true;
}

bool channel_stdout_is_paced(const struct connection *connection, const struct channel *channel)
{
    return pace_holds(&channel->pace) && channel_several_live(connection);
}

/* There must be room for a full packet of data beside the answers that incoming packets may need.
 * Bulk data leaves room for a packet of another channel as well, and waits while the socket is
 * full. */
static bool data_may_leave(const struct connection *connection, const struct channel *channel,
                           bool bulk)
{
    size_t needed = LIMIT_REPLY_BYTES + (bulk ? 2 : 1) * DATA_PACKET_BYTES;
    return channel->remote_window > 0 && output_room(connection) >= needed &&
           !(bulk && connection->socket.output_held) && !connection->kex.sent &&
           !connection->end.reached && !channel_stdout_is_paced(connection, channel);
}

bool channel_stdout_may_send(const struct connection *connection, const struct channel *channel)
{
    return data_may_leave(connection, channel, channel->flow != FLOW_QUIET);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads once, straight into a packet in the output buffer. False when there is no more for now. */
static bool read_child(struct connection *connection, struct channel *channel, int *fd,
                       bool is_stderr)
{
    struct writer message =
        message_begin(connection, is_stderr ? SSH_MSG_CHANNEL_EXTENDED_DATA : SSH_MSG_CHANNEL_DATA);
    writer_u32(&message, channel->remote);
    if (is_stderr) {
        writer_u32(&message, SSH_EXTENDED_DATA_STDERR);
    }
    size_t mark = writer_string_begin(&message);
    size_t most = smaller(channel->remote_window, channel->remote_packet);
    most = smaller(most, message.capacity - message.used);
    ssize_t count = read(*fd, message.bytes + message.used, most);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    if (count <= 0) {
        /* The end; EIO is a terminal's, when the program has ended and no other one has it open.
         * The unfinished message is dropped. */
        if (channel->has_pty) {
            channel_stdin_shut(connection, channel);
        }
        descriptors_close_one(fd);
        return false;
    }
    message.used += (size_t)count;
    writer_string_end(&message, mark);
    message_send(connection, &message);
    channel->remote_window -= (uint32_t)count;
    pace_sent(&channel->pace, (uint32_t)count, connection->now_ms);
    connection_mark_used(connection);
    return (size_t)count == most;
}

/* True if another session gets keystrokes and sends no more than answers. Requests of an SFTP
 * client are as small as keystrokes. */
static bool beside_dialogue(const struct connection *connection, const struct channel *channel)
{
    for (size_t i = 0; i < connection->channels_used; i++) {
        const struct channel *other = &connection->channels[i];
        if (other != channel && channel_is_live(other) && other->flow == FLOW_QUIET &&
            other->typed_ms > 0 && connection->now_ms - other->typed_ms < DIALOGUE_MS) {
            return true;
        }
    }
    return false;
}

void channel_stdout_tell(struct connection *connection, struct channel *channel, const char *text)
{
    size_t count = strlen(text);
    if (!channel_stdout_may_send(connection, channel) || count > channel->remote_window ||
        count > channel->remote_packet) {
        return;
    }
    struct writer message = message_begin(connection, SSH_MSG_CHANNEL_DATA);
    writer_u32(&message, channel->remote);
    writer_text(&message, text);
    message_send(connection, &message);
    channel->remote_window -= (uint32_t)count;
    pace_sent(&channel->pace, (uint32_t)count, connection->now_ms);
}

/* Sends at most `most` packets. Returns how many were full: if all, there may be more to read. */
static int read_stream(struct connection *connection, struct channel *channel, int *fd, int most,
                       bool is_stderr)
{
    int filled = 0;
    while (filled < most && *fd >= 0 && channel_stdout_may_send(connection, channel) &&
           read_child(connection, channel, fd, is_stderr)) {
        filled++;
    }
    return filled;
}

/* The event of a turn that began with `ready` output and sent `count` bytes of it. */
static enum channel_flow_event flow_event(const struct connection *connection,
                                          const struct channel *channel, bool ready, uint32_t count,
                                          bool whole_turn)
{
    if (!ready) {
        return FLOW_NOTHING;
    }
    if (count < BULK_BYTES) {
        return FLOW_LITTLE;
    }
    if (channel->child_stdout >= 0 && whole_turn) {
        return FLOW_FULL;
    }
    bool all = channel->child_stdout >= 0 && channel->stdout_widened &&
               data_may_leave(connection, channel, true);
    return all ? FLOW_ALL : FLOW_MUCH;
}

void channel_stdout_read(struct connection *connection, struct channel *channel)
{
    if (channel_stdout_is_paced(connection, channel) &&
        connection->now_ms >= pace_deadline_ms(&channel->pace)) {
        pace_forget_delay(&channel->pace);
    }
    bool stdout_ready = (channel->ready & READY_STDOUT) != 0;
    bool stderr_ready = (channel->ready & READY_STDERR) != 0;
    bool ready = (stdout_ready || stderr_ready) && channel_stdout_may_send(connection, channel);
    uint32_t window = channel->remote_window;
    int most =
        beside_dialogue(connection, channel) ? PACKETS_A_TURN_BESIDE_DIALOGUE : PACKETS_A_TURN;
    int filled =
        read_stream(connection, channel, &channel->child_stdout, stdout_ready ? most : 0, false);
    if (filled > 1 && !channel->has_pty && channel->child_stdout >= 0) {
        channel_widen_pipe(channel->child_stdout, &channel->stdout_widened);
    }
    read_stream(connection, channel, &channel->child_stderr, stderr_ready ? most : 0, true);
    channel->flow = channel_flow_after(
        channel->flow,
        flow_event(connection, channel, ready, window - channel->remote_window, filled == most));
}
