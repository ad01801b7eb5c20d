#include "channel_stdin.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "connection.h"

static bool discards(const struct channel *channel)
{
    return channel->input == INPUT_BROKEN || channel->input == INPUT_DISCARDING;
}

static bool takes_directly(const struct channel *channel)
{
    return channel->input == INPUT_OPEN && channel->pending.bytes == 0;
}

/* For data that can't go to the program now. */
static void keep(struct connection *connection, struct channel *channel, const uint8_t *data,
                 size_t count)
{
    if (discards(channel)) {
        channel->consumed += (uint32_t)count;
    } else {
        queue_add(&connection->pool, &channel->pending, data, count);
    }
}

/* writev() takes pointers to what it only reads. */
static struct iovec part_of(const uint8_t *bytes, size_t count)
{
    union {
        const uint8_t *source;
        void *part;
    } pointer = {.source = bytes};
    return (struct iovec){.iov_base = pointer.part, .iov_len = count};
}

void channel_stdin_data(struct connection *connection, struct channel *channel, const uint8_t *data,
                        size_t count)
{
    struct feed *feed = &connection->feed;
    if (feed->channel != channel || feed->count == FEED_PARTS) {
        channel_stdin_flush(connection);
    }
    if (!takes_directly(channel)) {
        keep(connection, channel, data, count);
    } else if (count > 0) {
        feed->channel = channel;
        feed->parts[feed->count++] = part_of(data, count);
        feed->bytes += count;
    }
}

void channel_stdin_break(struct connection *connection, struct channel *channel)
{
    channel_close_stdin(connection, channel, channel->has_pty ? INPUT_SHUT : INPUT_BREAK);
}

/* How much the program took: 0 if it takes nothing now. Its closed stdin (EPIPE; EIO from a
 * terminal) is not the end: what it still prints goes on. */
static size_t write_child(struct connection *connection, struct channel *channel,
                          const struct iovec *parts, int count)
{
    ssize_t written = writev(channel->child_stdin, parts, count);
    if (written >= 0) {
        channel->consumed += (uint32_t)written;
        channel->fed += (size_t)written;
        return (size_t)written;
    }
    if (errno != EAGAIN && errno != EINTR) {
        channel_stdin_break(connection, channel);
    }
    return 0;
}

/* Takes what is written off the front. */
static void advance(struct feed *feed, size_t written)
{
    feed->bytes -= written;
    for (int i = 0; i < feed->count; i++) {
        struct iovec *part = &feed->parts[i];
        size_t taken = written < part->iov_len ? written : part->iov_len;
        part->iov_base = (uint8_t *)part->iov_base + taken;
        part->iov_len -= taken;
        written -= taken;
    }
}

void channel_stdin_flush(struct connection *connection)
{
    struct feed *feed = &connection->feed;
    struct channel *channel = feed->channel;
    if (channel == NULL) {
        return;
    }
    advance(feed, write_child(connection, channel, feed->parts, feed->count));
    /* A program that reads, and has more to read at once than its pipe holds: a bulk transfer. */
    if (feed->bytes > 0 && channel->child_stdin >= 0 && !channel->has_pty &&
        channel->fed > LIMIT_FIRST_PIPE_BYTES &&
        channel_widen_pipe(channel->child_stdin, &channel->stdin_widened)) {
        advance(feed, write_child(connection, channel, feed->parts, feed->count));
    }
    for (int i = 0; i < feed->count; i++) {
        keep(connection, channel, feed->parts[i].iov_base, feed->parts[i].iov_len);
    }
    *feed = (struct feed){0};
}

void channel_stdin_close_drained(struct connection *connection, struct channel *channel)
{
    if (channel->input == INPUT_DRAINING && !channel->has_pty && channel->pending.bytes == 0) {
        channel_close_stdin(connection, channel, INPUT_SHUT);
    }
}

void channel_stdin_drain(struct connection *connection, struct channel *channel)
{
    bool ready = (channel->ready & READY_STDIN) != 0;
    while (ready && channel->child_stdin >= 0 && channel->pending.bytes > 0) {
        size_t count;
        const uint8_t *oldest = queue_front(&connection->pool, &channel->pending, &count);
        struct iovec part = part_of(oldest, count);
        size_t taken = write_child(connection, channel, &part, 1);
        queue_drop(&connection->pool, &channel->pending, taken);
        if (taken > 0) {
            connection->used_ms = connection->now_ms;
        }
        ready = taken == count;
        if (channel->pending.bytes == 0) {
            channel_stdin_close_drained(connection, channel);
        }
    }
}

/* The only channel there is, or NULL. */
static const struct channel *only_channel(const struct connection *connection)
{
    const struct channel *only = NULL;
    for (size_t i = 0; i < connection->channels_used; i++) {
        const struct channel *channel = &connection->channels[i];
        if (channel_is_open(channel) && only != NULL) {
            return NULL;
        }
        only = channel_is_open(channel) ? channel : only;
    }
    return only;
}

uint64_t channel_stdin_enough_until_ms(const struct connection *connection)
{
    const struct channel *channel = only_channel(connection);
    /* Not while the program may be the one that waits: for the WINDOW_ADJUST that lets it get rid
     * of its output, or for the end of a key exchange. */
    bool enough = channel != NULL && channel->pending.bytes >= LIMIT_PENDING_BYTES &&
                  channel->remote_window > 0 && !connection->kex.sent;
    return enough ? connection->read_ms + LIMIT_HOLD_MS : 0;
}
