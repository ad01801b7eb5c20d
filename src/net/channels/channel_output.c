#include "channel_output.h"

#include <errno.h>
#include <unistd.h>

#include "channel_stdin.h"
#include "ipc.h"
#include "signals.h"
#include "version.h"
#include "window.h"

/* CHANNEL_DATA and CHANNEL_EXTENDED_DATA before their bytes: number, channel, type, length. */
#define DATA_HEADER_BYTES (1 + 4 + 4 + 4)

/* Packets of one stream in one turn: enough to fill a write, few enough that other channels get
 * their share. */
#define PACKETS_A_TURN 4

/* ---- program to client ----------------------------------------------------------------------- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

#define DATA_PACKET_BYTES (LIMIT_CHANNEL_PACKET_BYTES + DATA_HEADER_BYTES + PACKET_OVERHEAD_BYTES)

/* So much of one program in one turn is not what somebody types and reads. */
#define BULK_BYTES 4096

/* Room for one more full packet of data beside the answers that incoming packets may need; and for
 * bulk data beside a packet that is not. */
static bool has_room(const struct connection *connection, const struct channel *channel)
{
    return output_room(connection) >=
           LIMIT_REPLY_BYTES + (channel->bulk ? 2 : 1) * DATA_PACKET_BYTES;
}

/* True if what the program has to say would only make the other sessions wait. */
static bool is_held(const struct connection *connection, const struct channel *channel)
{
    return pace_holds(&channel->pace) && channel_shares(connection);
}

static bool may_send_data(const struct connection *connection, const struct channel *channel)
{
    return channel->remote_window > 0 && has_room(connection, channel) && !connection->kex.sent &&
           !is_held(connection, channel);
}

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
        /* End of file; EIO is a terminal's, when its last program has gone. The unfinished message
         * is dropped. */
        if (fd == &channel->child_stdout && channel->child_stdin == *fd) {
            channel_close_stdin(connection, channel, INPUT_SHUT);
        }
        close(*fd);
        *fd = -1;
        return false;
    }
    message.used += (size_t)count;
    writer_string_end(&message, mark);
    message_send(connection, &message);
    channel->remote_window -= (uint32_t)count;
    pace_sent(&channel->pace, (uint32_t)count, connection->now_ms);
    connection->used_ms = connection->now_ms;
    return (size_t)count == most;
}

/* Returns how many packets were filled, so that there is more to be had. */
static int read_stream(struct connection *connection, struct channel *channel, int *fd, bool ready,
                       bool is_stderr)
{
    int filled = 0;
    while (filled < PACKETS_A_TURN && ready && *fd >= 0 && may_send_data(connection, channel) &&
           read_child(connection, channel, fd, is_stderr)) {
        filled++;
    }
    return filled;
}

static void read_output(struct connection *connection, struct channel *channel)
{
    bool stdout_ready = (channel->ready & READY_STDOUT) != 0;
    bool stderr_ready = (channel->ready & READY_STDERR) != 0;
    bool ready = (stdout_ready || stderr_ready) && may_send_data(connection, channel);
    uint32_t window = channel->remote_window;
    int filled = read_stream(connection, channel, &channel->child_stdout, stdout_ready, false);
    if (filled > 1 && !channel->has_pty && channel->child_stdout >= 0) {
        channel_widen_pipe(channel->child_stdout, &channel->stdout_widened);
    }
    read_stream(connection, channel, &channel->child_stderr, stderr_ready, true);
    if (ready) {
        channel->bulk = window - channel->remote_window >= BULK_BYTES;
    }
    channel->breathes = ready && channel->bulk && filled < PACKETS_A_TURN &&
                        channel->stdout_widened && channel->child_stdout >= 0 &&
                        may_send_data(connection, channel);
}

/* ---- the end of a program -------------------------------------------------------------------- */

static void send_exit(struct connection *connection, struct channel *channel,
                      const struct ipc_exit *result)
{
    const char *name = result->signaled != 0 ? signals_name(result->status) : NULL;
    if (name != NULL) {
        struct writer message = channel_request_begin(connection, channel, "exit-signal");
        writer_text(&message, name);
        writer_bool(&message, result->core_dumped != 0);
        writer_text(&message, "");
        writer_text(&message, "");
        message_send(connection, &message);
    } else {
        struct writer message = channel_request_begin(connection, channel, "exit-status");
        /* A signal that the RFC has no name for is told as shells tell it. */
        writer_u32(&message, result->signaled != 0 ? 128 + result->status : result->status);
        message_send(connection, &message);
    }
}

static void take_exit(struct connection *connection, struct channel *channel)
{
    if (channel->child_exit < 0 || (channel->ready & READY_EXIT) == 0) {
        return;
    }
    struct ipc_exit result;
    ssize_t count = read(channel->child_exit, &result, sizeof(result));
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count == (ssize_t)sizeof(result)) {
        send_exit(connection, channel, &result);
    }
    close(channel->child_exit);
    channel->child_exit = -1;
    channel->exited_ms = connection->now_ms;
    channel_output_event(connection, channel, OUTPUT_EXIT);
}

/* True for a terminal whose program has exited while others hold it still. */
static bool lingers(const struct channel *channel)
{
    return channel->has_pty && channel->output == OUTPUT_EXITED && channel->child_stdout >= 0;
}

/* Background jobs keep a terminal open for as long as they like: the session ends without them. */
static void end_linger(struct connection *connection, struct channel *channel)
{
    /* Without room in the window there may be output that poll() was not asked about. */
    if (lingers(channel) && may_send_data(connection, channel) &&
        (channel->ready & READY_STDOUT) == 0 &&
        connection->now_ms >= channel->exited_ms + LIMIT_LINGER_MS) {
        channel_close_stdin(connection, channel, INPUT_SHUT);
        close(channel->child_stdout);
        channel->child_stdout = -1;
    }
}

/* Tells an OpenSSH client that it can stop sending (OpenSSH's PROTOCOL, section 2.1). Others may
 * answer what they do not know though no reply is wanted. */
static void send_eow(struct connection *connection, struct channel *channel)
{
    if (channel->input != INPUT_BROKEN) {
        return;
    }
    if (version_is_openssh(connection)) {
        struct writer message = channel_request_begin(connection, channel, "eow@openssh.com");
        message_send(connection, &message);
    }
    channel->input = channel_input_after(channel->input, INPUT_REPORTED);
}

static void send_eof(struct connection *connection, struct channel *channel)
{
    bool sent = channel->output != OUTPUT_OPEN && channel->output != OUTPUT_EXITED;
    if (!sent && channel->child_stdout < 0 && channel->child_stderr < 0) {
        struct writer message = message_begin(connection, SSH_MSG_CHANNEL_EOF);
        writer_u32(&message, channel->remote);
        message_send(connection, &message);
        channel_output_event(connection, channel, OUTPUT_END);
    }
}

/* Small messages need room as well; none may leave during our key exchange or behind DISCONNECT. */
static bool may_send(const struct connection *connection)
{
    return output_room(connection) >= LIMIT_REPLY_BYTES && !connection->kex.sent &&
           !connection->ended;
}

static void channel_turn(struct connection *connection, struct channel *channel)
{
    if (channel_is_live(channel)) {
        if (is_held(connection, channel) &&
            connection->now_ms >= pace_patience_ends_ms(&channel->pace)) {
            pace_give_up(&channel->pace);
        }
        channel_stdin_drain(connection, channel);
        if (may_send(connection)) {
            read_output(connection, channel);
            take_exit(connection, channel);
            end_linger(connection, channel);
            send_eof(connection, channel);
            send_eow(connection, channel);
        }
    }
    if (channel_is_open(channel) && may_send(connection)) {
        window_return(connection, channel);
    }
}

/* When a channel has something to do though poll() finds nothing. */
static uint64_t next_ms(const struct connection *connection, const struct channel *channel)
{
    if (is_held(connection, channel)) {
        return pace_patience_ends_ms(&channel->pace);
    }
    if (lingers(channel) && may_send_data(connection, channel)) {
        return channel->exited_ms + LIMIT_LINGER_MS;
    }
    return UINT64_MAX;
}

uint64_t channel_output_next_ms(const struct connection *connection)
{
    uint64_t first_ms = UINT64_MAX;
    for (size_t i = 0; i < connection->channels_used; i++) {
        const struct channel *channel = &connection->channels[i];
        uint64_t channel_ms = channel_is_live(channel) ? next_ms(connection, channel) : UINT64_MAX;
        first_ms = channel_ms < first_ms ? channel_ms : first_ms;
    }
    return first_ms;
}

bool channel_output_breathes(const struct connection *connection)
{
    for (size_t i = 0; i < connection->channels_used; i++) {
        if (connection->channels[i].breathes) {
            return true;
        }
    }
    return false;
}

/* The next one that has a program; numbers without one would give their turn to whoever follows. */
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

void channel_output_turn(struct connection *connection)
{
    /* Who has little to say is not kept waiting by those who have much. Of these another one is
     * first each time: it can fill the output, but not every time. */
    bool was_bulk[LIMIT_CHANNELS];
    size_t used = connection->channels_used;
    connection->first_channel = next_live(connection, connection->first_channel);
    for (size_t i = 0; i < used; i++) {
        was_bulk[i] = connection->channels[i].bulk;
    }
    for (size_t i = 0; i < 2 * used; i++) {
        size_t number = (connection->first_channel + i) % used;
        if (was_bulk[number] == (i >= used)) {
            channel_turn(connection, &connection->channels[number]);
        }
    }
}

/* ---- waiting --------------------------------------------------------------------------------- */

size_t channel_output_wait_for(const struct connection *connection, struct pollfd *entries)
{
    size_t count = 0;
    for (size_t i = 0; i < connection->channels_used; i++) {
        const struct channel *channel = &connection->channels[i];
        if (!channel_is_live(channel)) {
            continue;
        }
        /* Asking for what this turn can't act on would make poll() return at once, over and over.
         * Negative descriptors are skipped by it. */
        bool sends = may_send_data(connection, channel);
        bool has_pending = channel->pending.bytes > 0;
        /* A pipe's POLLERR, which needs no asking, tells that the program has closed its stdin; a
         * terminal's stdin is asked about only with data at hand. */
        bool watches_stdin = has_pending || !channel->has_pty;
        entries[count++] = (struct pollfd){.fd = watches_stdin ? channel->child_stdin : -1,
                                           .events = has_pending ? POLLOUT : 0};
        entries[count++] = (struct pollfd){
            .fd = sends && !channel->breathes ? channel->child_stdout : -1, .events = POLLIN};
        entries[count++] =
            (struct pollfd){.fd = sends ? channel->child_stderr : -1, .events = POLLIN};
        entries[count++] = (struct pollfd){.fd = may_send(connection) ? channel->child_exit : -1,
                                           .events = POLLIN};
    }
    return count;
}

void channel_output_note(struct connection *connection, const struct pollfd *entries)
{
    for (size_t i = 0; i < connection->channels_used; i++) {
        struct channel *channel = &connection->channels[i];
        if (!channel_is_live(channel)) {
            continue;
        }
        /* POLLERR: a pipe's reader is gone. POLLHUP: a terminal's last program is. */
        if ((entries[0].revents & (POLLERR | POLLHUP)) != 0) {
            channel_stdin_break(connection, channel);
        }
        channel->ready = (entries[0].revents != 0 ? READY_STDIN : 0U) |
                         (entries[1].revents != 0 || channel->breathes ? READY_STDOUT : 0U) |
                         (entries[2].revents != 0 ? READY_STDERR : 0U) |
                         (entries[3].revents != 0 ? READY_EXIT : 0U);
        channel->breathes = false;
        entries += CHANNEL_POLL_ENTRIES;
    }
}
