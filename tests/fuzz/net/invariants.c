/* What holds of the product's state whenever it waits or writes. */
#include "world.h"

#include <string.h>

#include "channel_streams.h"

/* ---- windows --------------------------------------------------------------------------------- */

static void check_window(const struct channel *channel, const struct peer_channel *peer)
{
    FUZZ_CHECK(channel->window + channel_waiting_bytes(world.connection, channel) +
                   channel->consumed ==
               channel->limit);
    FUZZ_CHECK(channel->limit >= LIMIT_WINDOW_BYTES &&
               channel->limit <= LIMIT_LARGEST_WINDOW_BYTES);
    FUZZ_CHECK(channel->window == peer->credit);
    FUZZ_CHECK(channel->remote_window == peer->window && channel->remote == peer->number);
    uint32_t packet =
        peer->packet < LIMIT_CHANNEL_PACKET_BYTES ? peer->packet : LIMIT_CHANNEL_PACKET_BYTES;
    FUZZ_CHECK(channel->remote_packet == packet);
    FUZZ_CHECK(channel_input_has_eof(channel->input) == peer->said_eof);
}

static void check_channel(const struct channel *channel, size_t slot)
{
    const struct peer_channel *peer = channel_by_slot((uint32_t)slot);
    FUZZ_CHECK(channel_is_open(channel) == (peer != NULL));
    if (peer != NULL) {
        check_window(channel, peer);
        FUZZ_CHECK((channel->output == OUTPUT_CLOSED) == peer->heard_close);
        return;
    }
    FUZZ_CHECK(channel_waiting_bytes(world.connection, channel) == 0 &&
               channel->pending.first == 0);
    FUZZ_CHECK(slot >= world.connection->channels_used ||
               (channel->child_stdin < 0 && channel->child_stdout < 0 &&
                channel->child_stderr < 0 && channel->child_exit < 0));
}

/* ---- the pool -------------------------------------------------------------------------------- */

/* Every chunk of a queue, once. Returns how many there are. */
static size_t check_queue(const struct pool *pool, const struct queue *queue,
                          uint8_t seen[static QUEUE_CHUNKS + 1])
{
    size_t count = 0;
    uint16_t chunk = queue->first;
    FUZZ_CHECK((queue->bytes == 0) == (chunk == 0));
    while (chunk != 0) {
        FUZZ_CHECK(chunk <= pool->touched && !seen[chunk]);
        seen[chunk] = 1;
        count++;
        if (chunk == queue->last) {
            break;
        }
        chunk = pool->next[chunk - 1];
    }
    FUZZ_CHECK(count == 0 || chunk == queue->last);
    FUZZ_CHECK(count == 0 ||
               queue->bytes == (count - 1) * QUEUE_CHUNK_BYTES + queue->end - queue->start);
    return count;
}

static void check_pool(void)
{
    const struct pool *pool = &world.connection->pool;
    uint8_t seen[QUEUE_CHUNKS + 1];
    if (world.connection->stdin_batch.bytes > 0) {
        goal_reached(GOAL_WAITING);
    }
    if (pool->touched == 0) {
        FUZZ_CHECK(pool->in_use == 0 && pool->free == 0);
        return;
    }
    goal_reached(GOAL_QUEUED);
    FUZZ_CHECK(pool->touched <= QUEUE_CHUNKS);
    memset(seen, 0, sizeof(seen));
    size_t count = 0;
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        count += check_queue(pool, &world.connection->channels[i].pending, seen);
    }
    FUZZ_CHECK(count == pool->in_use);
    for (uint16_t chunk = pool->free; chunk != 0; chunk = pool->next[chunk - 1]) {
        FUZZ_CHECK(chunk <= pool->touched && !seen[chunk]);
        seen[chunk] = 1;
        count++;
    }
    FUZZ_CHECK(count == pool->touched);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static void check_owned(int fd)
{
    FUZZ_CHECK(fd < 0 || (fd >= FIRST_FD && fd < world.next_fd && world.open_fds[fd]));
}

/* What is open belongs to a channel, and what a channel has is open. */
static void check_descriptors(void)
{
    const struct connection *connection = world.connection;
    for (size_t i = 0; i < connection->channels_used; i++) {
        const struct channel *channel = &connection->channels[i];
        check_owned(channel->child_stdin);
        check_owned(channel->child_stdout);
        check_owned(channel->child_stderr);
        check_owned(channel->child_exit);
    }
    for (int fd = FIRST_FD; fd < world.next_fd; fd++) {
        FUZZ_CHECK(!world.open_fds[fd] || product_holds(fd));
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

/* An identification line that is too long, or whole, is not waited for. */
static void check_identification(void)
{
    const struct connection *connection = world.connection;
    if (connection->phase == SSH_PHASE_VERSION && !connection->end.reached) {
        size_t count = connection->input_end;
        FUZZ_CHECK(count < LIMIT_VERSION_LINE_BYTES);
        FUZZ_CHECK(count == 0 || memchr(connection->buffers.input, '\n', count) == NULL);
    }
}

void invariants_hold(void)
{
    const struct connection *connection = world.connection;
    judge_done();
    FUZZ_CHECK(connection->output_start <= connection->output_end &&
               connection->output_end <= LIMIT_OUTPUT_BYTES);
    FUZZ_CHECK(connection->input_start <= connection->input_end &&
               connection->input_end <= LIMIT_INPUT_BYTES);
    FUZZ_CHECK(connection->channels_used <= LIMIT_CHANNELS);
    FUZZ_CHECK(connection->stdin_batch.channel == NULL || connection->stdin_batch.held);
    FUZZ_CHECK(connection->end.reached || connection->kex.sent == world.in_exchange ||
               !world.said_kexinit);
    FUZZ_CHECK(connection->kex.sent || connection->deferred_bytes == 0);
    uint64_t limits = 0;
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        const struct channel *channel = &connection->channels[i];
        if (!connection->end.reached && !world.ambiguous) {
            check_channel(channel, i);
        }
        limits += channel_is_open(channel) ? channel->limit : LIMIT_WINDOW_BYTES;
    }
    FUZZ_CHECK(limits <= LIMIT_WINDOWS_BYTES);
    check_identification();
    check_pool();
    check_descriptors();
}

/* Of a product that waits, with nothing left to read or to write: all that could be done is done.
 */
void invariants_at_rest(void)
{
    const struct connection *connection = world.connection;
    bool exchanging = connection->kex.sent;
    if (connection->end.reached || exchanging || world.ambiguous || connection->output_end > 0 ||
        world.client.arriving_start < world.client.arriving_end) {
        return;
    }
    FUZZ_CHECK(world.expected_first == world.expected_end);
    for (size_t i = 0; i < connection->channels_used; i++) {
        const struct channel *channel = &connection->channels[i];
        if (channel_is_live(channel) && channel_stdout_is_paced(connection, channel)) {
            goal_reached(GOAL_PACED);
        }
        bool returns = channel_is_open(channel) && channel->output != OUTPUT_CLOSED &&
                       !channel_input_has_eof(channel->input) &&
                       channel_waiting_bytes(connection, channel) == 0;
        FUZZ_CHECK(!returns || channel->consumed < channel->limit / 4);
    }
}
