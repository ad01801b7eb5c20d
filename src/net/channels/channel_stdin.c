#include "net.h"

/* No more than this in one message are keystrokes. */
#define KEYSTROKE_BYTES 64

/* ---- the end --------------------------------------------------------------------------------- */

static void close_stdin(struct connection *connection, struct channel *channel,
                        enum channel_input_event event)
{
    channel->input = channel_input_after(channel->input, event);
    if (channel->has_pty) {
        channel->child_stdin = -1;
    }
    descriptors_close_one(&channel->child_stdin);
    channel_window_consume(channel, channel_waiting_bytes(connection, channel));
    queue_drop(&connection->pool, &channel->pending, channel->pending.bytes);
    if (connection->stdin_batch.channel == channel) {
        connection->stdin_batch = (struct stdin_batch){0};
    }
}

void channel_stdin_shut(struct connection *connection, struct channel *channel)
{
    close_stdin(connection, channel, INPUT_SHUT);
}

/* The client of a terminal gets no eow@openssh.com: other programs may still read from it. */
void channel_stdin_break(struct connection *connection, struct channel *channel)
{
    close_stdin(connection, channel, channel->has_pty ? INPUT_SHUT : INPUT_BREAK);
}

void channel_stdin_send_eow(struct connection *connection, struct channel *channel)
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

static void close_if_drained(struct connection *connection, struct channel *channel)
{
    if (channel->input == INPUT_DRAINING && !channel->has_pty &&
        channel_waiting_bytes(connection, channel) == 0) {
        channel_stdin_shut(connection, channel);
    }
}

void channel_stdin_start(struct connection *connection, struct channel *channel, int fd)
{
    channel->child_stdin = fd;
    channel->input = channel_input_after(channel->input, INPUT_START);
    close_if_drained(connection, channel);
}

void channel_stdin_eof(struct connection *connection, struct channel *channel)
{
    channel->input = channel_input_after(channel->input, INPUT_EOF);
    close_if_drained(connection, channel);
}

/* ---- data ------------------------------------------------------------------------------------ */

/* For data that can't go to the program now, or never can. */
static void keep_data(struct connection *connection, struct channel *channel, const uint8_t *data,
                      size_t count)
{
    if (channel->input == INPUT_BROKEN || channel->input == INPUT_DISCARDING) {
        channel_window_consume(channel, count);
    } else {
        queue_add(&connection->pool, &channel->pending, data, count);
    }
}

void channel_stdin_add(struct connection *connection, struct channel *channel, const uint8_t *data,
                       size_t count)
{
    struct stdin_batch *batch = &connection->stdin_batch;
    if (count <= KEYSTROKE_BYTES) {
        channel->typed_ms = connection->now_ms;
    }
    if (batch->channel != channel || batch->count == STDIN_BATCH_PARTS) {
        channel_stdin_finish_batch(connection);
    }
    if (channel->input != INPUT_OPEN || channel->pending.bytes > 0) {
        keep_data(connection, channel, data, count);
    } else if (count > 0) {
        batch->channel = channel;
        batch->parts[batch->count++] = iovec_of(data, count);
        batch->bytes += count;
    }
}

/* Returns how much the program took: 0 if its pipe is full, or if it has closed its stdin (EPIPE;
 * EIO from a terminal). */
static size_t write_child(struct connection *connection, struct channel *channel,
                          const struct iovec *parts, int count)
{
    ssize_t written = writev(channel->child_stdin, parts, count);
    if (written >= 0) {
        connection_mark_used(connection);
        channel_window_consume(channel, (size_t)written);
        channel->stdin_bytes += (size_t)written;
        return (size_t)written;
    }
    if (errno != EAGAIN && errno != EINTR) {
        channel_stdin_break(connection, channel);
    }
    return 0;
}

/* Takes the written bytes off the front. */
static void advance_batch(struct stdin_batch *batch, size_t written)
{
    batch->bytes -= written;
    for (int i = 0; i < batch->count; i++) {
        struct iovec *part = &batch->parts[i];
        size_t taken = written < part->iov_len ? written : part->iov_len;
        part->iov_base = (uint8_t *)part->iov_base + taken;
        part->iov_len -= taken;
        written -= taken;
    }
}

void channel_stdin_write_batch(struct connection *connection)
{
    struct stdin_batch *batch = &connection->stdin_batch;
    struct channel *channel = batch->channel;
    if (channel == NULL || (batch->held && (channel->ready & READY_STDIN) == 0)) {
        return;
    }
    advance_batch(batch, write_child(connection, channel, batch->parts, batch->count));
    /* If a program reads, and there is more at once than its pipe holds, it is a bulk transfer. */
    if (batch->bytes > 0 && channel->child_stdin >= 0 && !channel->has_pty &&
        channel->stdin_bytes > LIMIT_FIRST_PIPE_BYTES &&
        channel_widen_pipe(channel->child_stdin, &channel->stdin_widened)) {
        advance_batch(batch, write_child(connection, channel, batch->parts, batch->count));
    }
    batch->held = batch->bytes > 0;
    if (!batch->held) {
        *batch = (struct stdin_batch){0};
        close_if_drained(connection, channel);
    }
}

void channel_stdin_finish_batch(struct connection *connection)
{
    struct stdin_batch *batch = &connection->stdin_batch;
    channel_stdin_write_batch(connection);
    for (int i = 0; i < batch->count; i++) {
        queue_add(&connection->pool, &batch->channel->pending, batch->parts[i].iov_base,
                  batch->parts[i].iov_len);
    }
    *batch = (struct stdin_batch){0};
}

void channel_stdin_write_queue(struct connection *connection, struct channel *channel)
{
    bool ready = (channel->ready & READY_STDIN) != 0;
    while (ready && channel->child_stdin >= 0 && channel->pending.bytes > 0) {
        size_t count;
        const uint8_t *oldest = queue_front(&connection->pool, &channel->pending, &count);
        struct iovec part = iovec_of(oldest, count);
        size_t taken = write_child(connection, channel, &part, 1);
        queue_drop(&connection->pool, &channel->pending, taken);
        ready = taken == count;
        close_if_drained(connection, channel);
    }
}

uint64_t channel_stdin_pause_until_ms(const struct connection *connection)
{
    const struct channel *only = NULL;
    for (size_t i = 0; i < connection->channels_used; i++) {
        const struct channel *channel = &connection->channels[i];
        if (channel_is_open(channel) && only != NULL) {
            return 0;
        }
        only = channel_is_open(channel) ? channel : only;
    }
    /* Not while the program may wait for the client: for the WINDOW_ADJUST that its output needs,
     * or for the end of a key exchange. */
    bool pauses = only != NULL && channel_waiting_bytes(connection, only) >= LIMIT_PENDING_BYTES &&
                  only->remote_window > 0 && !connection->kex.sent;
    return pauses ? connection->times.read_ms + LIMIT_HOLD_MS : 0;
}
