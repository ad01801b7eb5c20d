/*
 * src/net/channels/channel_stdin.c: data that was taken off a channel's window stays counted. What
 * is in hand (the batch), what is queued and what is consumed are together as much as before; only
 * channel_stdin_add() adds to it, and exactly what it is given. This is the part of the invariant
 * in window.c that channel_window.c leaves to its callers.
 *
 * Any valid state: what a program does not take may stay in the batch, even after CHANNEL_EOF. Its
 * data is that of a program whose queue is empty.
 *
 * Bounds: channel_stdin_finish_batch() with one part only, since CBMC has no answer for several
 * within minutes: the fuzz target `connection` judges these. channel_stdin_write_queue() with up to
 * CHUNKS chunks.
 */
#include "small.h"

#include <errno.h>
#include <unistd.h>

#include "channels.h"
#include "net.h"
#include "proofs.h"
#include "transport.h"

enum { THE_STEP = STEP };
#undef STEP

#include "channel_state.c"
#include "channel_stdin.c"

#define CHUNKS 3

static struct connection connection;
static uint8_t bytes[QUEUE_CHUNK_BYTES];
static int error;
static unsigned chunks;

/* ---- what channel_stdin.c calls -------------------------------------------------------------- */

int *__errno_location(void)
{
    return &error;
}

int close(int fd)
{
    PROVE(fd >= 0, "an open descriptor is closed");
    return 0;
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    size_t room = 0;
    PROVE(fd >= 0 && count > 0, "something is written to an open descriptor");
    for (int i = 0; i < count; i++) {
        PROVE(__CPROVER_r_ok(parts[i].iov_base, parts[i].iov_len), "the data is there");
        room += parts[i].iov_len;
    }
    size_t written = nondet_size();
    ASSUME(written <= room);
    error = (int)nondet_unsigned();
    return nondet_bool() ? (ssize_t)written : -1;
}

void descriptors_close_one(int *fd)
{
    *fd = -1;
}

bool channel_widen_pipe(int fd, bool *widened)
{
    PROVE(fd >= 0, "the pipe is open");
    *widened = true;
    return nondet_bool();
}

void channel_window_consume(struct channel *channel, size_t count)
{
    channel->consumed += (uint32_t)count;
}

void queue_add(struct pool *pool, struct queue *queue, const uint8_t *data, size_t count)
{
    (void)pool;
    PROVE(__CPROVER_r_ok(data, count), "the data is there");
    queue->bytes += count;
}

const uint8_t *queue_front(const struct pool *pool, const struct queue *queue, size_t *count)
{
    (void)pool;
    ASSUME(++chunks <= CHUNKS);
    *count = nondet_size();
    ASSUME(*count > 0 && *count <= queue->bytes && *count <= sizeof(bytes));
    return bytes;
}

void queue_drop(struct pool *pool, struct queue *queue, size_t count)
{
    (void)pool;
    PROVE(count <= queue->bytes, "what is dropped is there");
    queue->bytes -= count;
}

void connection_mark_used(struct connection *used)
{
    (void)used;
}

bool version_is_openssh(const struct connection *of)
{
    (void)of;
    return nondet_bool();
}

struct writer channel_request_begin(struct connection *to, const struct channel *channel,
                                    const char *type)
{
    (void)to;
    (void)channel;
    (void)type;
    return (struct writer){0};
}

void message_send(struct connection *to, struct writer *message)
{
    (void)to;
    (void)message;
}

size_t channel_waiting_bytes(const struct connection *of, const struct channel *channel)
{
    const struct stdin_batch *batch = &of->stdin_batch;
    return channel->pending.bytes + (batch->channel == channel ? batch->bytes : 0);
}

bool channel_is_open(const struct channel *channel)
{
    return channel->output != OUTPUT_FREE;
}

/* ---- the invariant --------------------------------------------------------------------------- */

static uint64_t counted(const struct channel *channel)
{
    size_t in_hand = connection.stdin_batch.channel == channel ? connection.stdin_batch.bytes : 0;
    return (uint64_t)channel->pending.bytes + channel->consumed + in_hand;
}

/* With room for one more part: a batch without is flushed first, which is a step of its own. */
static void begin_any_batch(struct stdin_batch *batch)
{
    batch->count = (int)nondet_unsigned();
    batch->bytes = nondet_u32();
    ASSUME(batch->count >= 1 && batch->count < STDIN_BATCH_PARTS);
}

static void begin_short_batch(struct stdin_batch *batch)
{
    batch->count = 1;
    batch->bytes = batch->parts[0].iov_len = nondet_size();
    batch->parts[0].iov_base = bytes;
    ASSUME(batch->bytes > 0 && batch->bytes <= sizeof(bytes));
}

static bool batch_is_of(const struct channel *channel)
{
    return (channel->input == INPUT_OPEN || channel->input == INPUT_DRAINING) &&
           channel->pending.bytes == 0;
}

static void begin_batch(struct channel *channel)
{
    struct stdin_batch *batch = &connection.stdin_batch;
    if (THE_STEP == 0) {
        begin_any_batch(batch);
    } else {
        begin_short_batch(batch);
    }
    batch->channel = channel;
    batch->held = nondet_bool();
    ASSUME(batch_is_of(channel) && channel->child_stdin >= 0);
}

static void begin(struct channel *channel)
{
    channel->input = (enum channel_input)nondet_unsigned();
    channel->output = OUTPUT_OPEN;
    channel->child_stdin = (int)nondet_unsigned();
    channel->has_pty = nondet_bool();
    channel->stdin_widened = nondet_bool();
    channel->stdin_bytes = nondet_u32();
    channel->pending.bytes = nondet_size();
    channel->consumed = nondet_u32();
    channel->ready = nondet_unsigned();
    ASSUME(channel->input > INPUT_FREE && channel->input < INPUT_STATES);
    ASSUME(channel->pending.bytes <= LIMIT_LARGEST_WINDOW_BYTES);
    ASSUME(channel->consumed <= LIMIT_LARGEST_WINDOW_BYTES);
    ASSUME(channel->child_stdin >= 0 || channel->input != INPUT_OPEN);
}

static bool batch_holds(const struct channel *channel)
{
    const struct stdin_batch *batch = &connection.stdin_batch;
    return batch->channel == NULL ? batch->count == 0 && batch->bytes == 0
                                  : batch->channel == channel && batch->count >= 1 &&
                                        batch->count <= STDIN_BATCH_PARTS && batch_is_of(channel);
}

int main(void)
{
    struct channel *channel = &connection.channels[0];
    size_t count = nondet_size();
    ASSUME(count <= sizeof(bytes));
    begin(channel);
    if (nondet_bool()) {
        begin_batch(channel);
    }
    uint64_t before = counted(channel);
    switch (THE_STEP) {
    case 0:
        ASSUME(!channel_input_has_eof(channel->input)); /* channel_window_take() refuses it */
        channel_stdin_add(&connection, channel, bytes, count);
        before += count;
        break;
    case 1:
        channel_stdin_finish_batch(&connection);
        PROVE(connection.stdin_batch.channel == NULL, "nothing is left in hand");
        break;
    case 2:
        channel_stdin_write_queue(&connection, channel);
        break;
    case 3:
        channel_stdin_eof(&connection, channel);
        break;
    case 4:
        channel_stdin_start(&connection, channel, (int)(nondet_unsigned() >> 1));
        break;
    case 5:
        channel_stdin_break(&connection, channel);
        break;
    case 6:
        channel_stdin_shut(&connection, channel);
        break;
    default:
        channel_stdin_send_eow(&connection, channel);
        break;
    }
    PROVE(counted(channel) == before, "what was taken stays counted");
    PROVE(batch_holds(channel), "a batch is that of a program with an empty queue");
    return 0;
}
