#include "window.h"

#include "connection.h"

/* A window grows by this factor. A TCP connection doubles what is under way in each round trip when
 * it starts, and the window must be ahead of that. */
#define GROWTH 4

/* The client gets window back when this part of it is consumed: seldom enough that adjusts cost
 * nothing beside the data, and early enough to grow before the client has used up what it has. */
#define STEP(limit) ((limit) / 4)

/* What a link of 500 Mbit/s carries in a millisecond. */
#define NEAR_BYTES_A_MS 65536

/* What channels have beyond the first window, all together, is bounded. */
static uint32_t spare_window(const struct connection *connection)
{
    uint32_t spare = LIMIT_WINDOWS_BYTES - LIMIT_CHANNELS * LIMIT_WINDOW_BYTES;
    for (size_t i = 0; i < connection->channels_used; i++) {
        const struct channel *channel = &connection->channels[i];
        spare -= channel_is_open(channel) ? channel->limit - LIMIT_WINDOW_BYTES : 0;
    }
    return spare;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* How large the window may become. A client that sends faster than networks do is near. */
static uint32_t largest_window(const struct connection *connection, const struct channel *channel)
{
    uint64_t taken_ms = connection->now_ms - channel->adjusted_ms;
    bool near = channel->consumed >= NEAR_BYTES_A_MS * (taken_ms + 1);
    return near && channel_shares(connection) ? LIMIT_NEAR_WINDOW_BYTES
                                              : LIMIT_LARGEST_WINDOW_BYTES;
}

/* When all that has arrived is with the program, we wait for the client: it may be the window that
 * holds it up, if what is under way on a far connection is more. A client that is faster than we
 * are does not come here, because there is always more to read. */
static void grow_window(const struct connection *connection, struct channel *channel,
                        uint32_t largest)
{
    if (connection->input_drained && channel->fed > LIMIT_FIRST_PIPE_BYTES &&
        channel->pending.bytes == 0 && channel->limit < largest) {
        uint32_t more = smaller((GROWTH - 1) * channel->limit, largest - channel->limit);
        more = smaller(more, spare_window(connection));
        channel->limit += more;
        channel->consumed += more;
    }
}

static void shrink_window(struct channel *channel, uint32_t largest)
{
    if (channel->limit > largest) {
        uint32_t less = smaller(channel->consumed, channel->limit - largest);
        channel->limit -= less;
        channel->consumed -= less;
    }
}

void window_return(struct connection *connection, struct channel *channel)
{
    if (channel_input_has_eof(channel->input) || channel->output == OUTPUT_CLOSED ||
        connection->kex.sent) {
        return;
    }
    /* A program that leaves half of a grown window with us has stopped reading, or is much slower:
     * what it takes is not given back until the window is as it was. */
    if (channel->pending.bytes > channel->limit / 2) {
        shrink_window(channel, LIMIT_WINDOW_BYTES);
    }
    if (channel->consumed < STEP(channel->limit)) {
        return;
    }
    uint32_t largest = largest_window(connection, channel);
    shrink_window(channel, largest);
    grow_window(connection, channel, largest);
    if (channel->consumed == 0) {
        return;
    }
    struct writer message = message_begin(connection, SSH_MSG_CHANNEL_WINDOW_ADJUST);
    writer_u32(&message, channel->remote);
    writer_u32(&message, channel->consumed);
    message_send(connection, &message);
    channel->window += channel->consumed;
    channel->consumed = 0;
    channel->adjusted_ms = connection->now_ms;
}
