#include "net.h"

/* A window grows by this factor. A TCP connection that starts doubles its congestion window in each
 * round trip, and ours must stay ahead of that. */
#define GROWTH 4

/* WINDOW_ADJUST leaves when this part of the window is consumed: seldom enough that it costs
 * nothing beside the data, and early enough that the client never waits for it. */
#define STEP(limit) ((limit) / 4)

/* What a link of 500 Mbit/s carries in a millisecond: a client that sends faster may be near. */
#define NEAR_BYTES_A_MS 65536

/* How much longer than on an empty link data may be on its way: beside another session, whose
 * keystrokes wait behind it, and without one, which might be opened. */
#define SHARED_QUEUE_MS 100
#define QUEUE_MS        1000

/* After so long the delay of a shared link is measured anew, with this part of a window. */
#define DELAY_VALID_MS 10000
#define PROBE_PART     4

/* How much all windows together may still grow. */
static uint32_t spare_window(const struct connection *connection)
{
    uint32_t spare = LIMIT_WINDOWS_BYTES - LIMIT_CHANNELS * LIMIT_WINDOW_BYTES;
    for (size_t i = 0; i < connection->channels_used; i++) {
        const struct channel *channel = &connection->channels[i];
        spare -= channel_is_open(channel) ? channel->limit - LIMIT_WINDOW_BYTES : 0;
    }
    return spare;
}

/* After a while the path may be another one. A session that is alone may use an old delay: its
 * queue is many times as long. */
static bool delay_is_old(const struct connection *connection)
{
    return connection->link.old_ms == 0 ||
           (connection->now_ms >= connection->link.old_ms && channel_several_live(connection));
}

/* How large the window may become: half more than the link carries during its delay, and a queue.
 * More would only make the queue in the client's kernel and in front of the link longer. */
static uint32_t largest_window(const struct connection *connection, const struct channel *channel)
{
    uint64_t rate = channel->bytes_a_ms, delay_ms = connection->link.delay_ms;
    bool shared = channel_several_live(connection);
    bool near = rate >= NEAR_BYTES_A_MS && 2 * rate * delay_ms <= LIMIT_NEAR_WINDOW_BYTES;
    uint64_t most = shared && near ? LIMIT_NEAR_WINDOW_BYTES : LIMIT_LARGEST_WINDOW_BYTES;
    uint64_t enough = rate * (delay_ms + delay_ms / 2 + (shared ? SHARED_QUEUE_MS : QUEUE_MS));
    enough /= delay_is_old(connection) ? PROBE_PART : 1;
    return enough < LIMIT_WINDOW_BYTES ? LIMIT_WINDOW_BYTES : (uint32_t)earlier(enough, most);
}

/* Called when all of a window has come. Only a small window, which makes no long queue of its own,
 * can raise the delay. A pause of the client lowers the rate by a quarter at most. */
static void measure_window(struct connection *connection, struct channel *channel)
{
    uint64_t taken_ms = connection->now_ms - channel->measured_ms;
    bool probe =
        delay_is_old(connection) && channel->measured <= largest_window(connection, channel);
    if (probe || taken_ms < connection->link.delay_ms) {
        connection->link.delay_ms = taken_ms;
        connection->link.old_ms = connection->now_ms + DELAY_VALID_MS;
    }
    uint32_t least = channel->bytes_a_ms - channel->bytes_a_ms / 4;
    uint32_t rate = (uint32_t)(channel->measured / (taken_ms + 1));
    channel->bytes_a_ms = rate > least ? rate : least;
}

bool channel_window_take(struct connection *connection, struct channel *channel, size_t count)
{
    const char *reason = NULL;
    if (channel_input_has_eof(channel->input)) {
        reason = "data after EOF";
    } else if (count > LIMIT_CHANNEL_PACKET_BYTES) {
        reason = "data beyond the maximum packet size";
    } else if (count > channel->window) {
        reason = "data beyond the window";
    }
    if (reason != NULL) {
        connection_refuse(connection, SSH_DISCONNECT_PROTOCOL_ERROR, "%s", reason);
        return false;
    }
    channel->window -= (uint32_t)count;
    if (channel->unmeasured > 0) {
        channel->unmeasured -= (uint32_t)smaller(count, channel->unmeasured);
        if (channel->unmeasured == 0) {
            measure_window(connection, channel);
        }
    }
    return true;
}

void channel_window_consume(struct channel *channel, size_t count)
{
    channel->consumed += (uint32_t)count;
}

/* If the program has taken all that has arrived, we wait for the client. The client may wait for
 * us, too, if its window is smaller than what a far connection has in flight. Not for a client that
 * sends faster than we read: there is always more to read. */
static void grow_window(const struct connection *connection, struct channel *channel,
                        uint32_t largest)
{
    if (connection->socket.input_empty && channel->stdin_bytes > LIMIT_FIRST_PIPE_BYTES &&
        channel_waiting_bytes(connection, channel) == 0 && channel->limit < largest) {
        uint32_t more = (uint32_t)smaller((GROWTH - 1) * channel->limit, largest - channel->limit);
        more = (uint32_t)smaller(more, spare_window(connection));
        channel->limit += more;
        channel->consumed += more;
    }
}

static void shrink_window(struct channel *channel, uint32_t largest)
{
    if (channel->limit > largest) {
        uint32_t less = (uint32_t)smaller(channel->consumed, channel->limit - largest);
        channel->limit -= less;
        channel->consumed -= less;
    }
}

void channel_window_return(struct connection *connection, struct channel *channel)
{
    if (channel_input_has_eof(channel->input) || channel->output == OUTPUT_CLOSED ||
        connection->kex.sent) {
        return;
    }
    /* If half of a grown window waits here, the program has stopped reading or is much slower than
     * the client: nothing is returned until the window has its first size again. */
    if (channel_waiting_bytes(connection, channel) > channel->limit / 2) {
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
    if (channel->unmeasured == 0) {
        channel->unmeasured = channel->measured = channel->window;
        channel->measured_ms = connection->now_ms;
    }
}
