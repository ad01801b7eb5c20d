/*
 * src/net/channels/channel.c: the queues of data that programs have not taken yet, in chunks of one
 * pool.
 *
 * Step 0 proves that the pool has room for 16 channels: whatever the queues hold, as long as it is
 * LIMIT_WINDOWS_BYTES at most together (window.c), their chunks are QUEUE_CHUNKS at most. The sum
 * is proved by induction, channel after channel.
 *
 * Steps 1 to 3 prove queue_add(), queue_drop() and queue_front() by one step from any valid state:
 * each chunk that was ever touched is in one of the queues or in the free list. What a queue holds
 * stays where it is, in its order; what is added comes behind it; chunks of other queues and their
 * order are left alone. Which chunk has which number does not matter to the code, so a pool of
 * CHUNKS is enough: the queue that makes the step, the free list and the others' chunks can have
 * any shape in it.
 */
#include "limit.h"

/* A pool of CHUNKS. */
#pragma push_macro("LIMIT_CHANNELS")
#pragma push_macro("LIMIT_WINDOWS_BYTES")
#undef LIMIT_CHANNELS
#undef LIMIT_WINDOWS_BYTES
#define LIMIT_CHANNELS      1
#define LIMIT_WINDOWS_BYTES QUEUE_CHUNK_BYTES
#include "channels.h"
#include "net.h"
enum { CHUNKS = QUEUE_CHUNKS };
#pragma pop_macro("LIMIT_CHANNELS")
#pragma pop_macro("LIMIT_WINDOWS_BYTES")
#include "small.h"

#include "proofs.h"

#include "channel.c"

static struct pool pool;
static struct queue queue;
static uint8_t added[LIMIT_CHANNEL_PACKET_BYTES];
static size_t watched;         /* one byte of these, any, ... */
static const uint8_t *arrived; /* ... and where it is copied to */

/* The state before: the queue's chunks, the free list, those of other queues. */
static uint16_t order[CHUNKS], before[CHUNKS];
static size_t mine, unused, others;

void *memcpy(void *to, const void *from, size_t count)
{
    size_t first = (size_t)((const uint8_t *)from - added);
    PROVE(__CPROVER_r_ok(from, count), "the bytes are there");
    PROVE(__CPROVER_w_ok(to, count), "the pool has room for them");
    if (watched >= first && watched - first < count) {
        PROVE(arrived == NULL, "each byte is copied once");
        arrived = (const uint8_t *)to + (watched - first);
    }
    return to;
}

/* ---- a valid state --------------------------------------------------------------------------- */

static bool queue_holds(const struct queue *of, size_t chunks)
{
    if (chunks == 0) {
        return of->bytes == 0 && of->first == 0 && of->last == 0 && of->start == 0 && of->end == 0;
    }
    return of->start < QUEUE_CHUNK_BYTES && of->end > 0 && of->end <= QUEUE_CHUNK_BYTES &&
           (chunks > 1 || of->start < of->end) &&
           of->bytes + of->start + (QUEUE_CHUNK_BYTES - of->end) == chunks * QUEUE_CHUNK_BYTES;
}

static void begin_order(void)
{
    for (size_t i = 0; i < CHUNKS; i++) {
        order[i] = nondet_u8();
        ASSUME(order[i] >= 1 && order[i] <= CHUNKS);
        for (size_t j = 0; j < i; j++) {
            ASSUME(order[i] != order[j]);
        }
        ASSUME(i >= pool.touched || order[i] <= pool.touched);
        /* Of others' chunks, and of those never touched, the order means nothing. */
        ASSUME(i <= mine + unused || i == pool.touched || order[i - 1] < order[i]);
    }
}

static void begin(void)
{
    mine = nondet_u8();
    unused = nondet_u8();
    others = nondet_u8();
    ASSUME(mine <= CHUNKS && unused <= CHUNKS && others <= CHUNKS);
    ASSUME(mine + unused + others <= CHUNKS);
    pool.touched = (uint16_t)(mine + unused + others);
    pool.in_use = (uint16_t)(mine + others);
    begin_order();
    for (size_t i = 0; i < CHUNKS; i++) {
        bool ends = i + 1 == mine || i >= mine + unused;
        uint16_t next = ends ? nondet_u8() : i + 1 == mine + unused ? 0 : order[i + 1];
        pool.next[order[i] - 1] = next;
    }
    pool.free = unused > 0 ? order[mine] : 0;
    queue.bytes = nondet_size();
    queue.start = (uint16_t)nondet_unsigned();
    queue.end = (uint16_t)nondet_unsigned();
    queue.first = mine > 0 ? order[0] : 0;
    queue.last = mine > 0 ? order[mine - 1] : 0;
    ASSUME(queue.bytes <= CHUNKS * QUEUE_CHUNK_BYTES && queue_holds(&queue, mine));
    for (size_t i = 0; i < CHUNKS; i++) {
        before[i] = pool.next[i];
    }
}

/* The chunk with this place in a list. */
static uint16_t follow(uint16_t first, size_t place)
{
    uint16_t chunk = first;
    for (size_t i = 0; i < CHUNKS && i < place; i++) {
        PROVE(chunk >= 1 && chunk <= CHUNKS, "a list goes on to a chunk");
        chunk = pool.next[chunk - 1];
    }
    return chunk;
}

/* Where a byte of the queue is. */
static const uint8_t *place_of(size_t byte)
{
    size_t from_start = queue.start + byte;
    uint16_t chunk = follow(queue.first, from_start / QUEUE_CHUNK_BYTES);
    PROVE(chunk >= 1 && chunk <= CHUNKS, "the byte has a chunk");
    return pool.chunks[chunk - 1] + from_start % QUEUE_CHUNK_BYTES;
}

/* ---- the state after ------------------------------------------------------------------------- */

static void prove_valid(size_t bytes)
{
    bool seen[CHUNKS] = {false};
    size_t chunks = bytes == 0 ? 0 : (queue.start + bytes - 1) / QUEUE_CHUNK_BYTES + 1;
    uint16_t chunk = queue.first, last = 0;
    PROVE(queue.bytes == bytes && queue_holds(&queue, chunks), "the queue holds");
    size_t listed = chunks + pool.touched - pool.in_use;
    PROVE(listed <= CHUNKS, "no list goes round");
    for (size_t i = 0; i < CHUNKS && i < listed; i++) {
        chunk = i == chunks ? pool.free : chunk;
        PROVE(chunk >= 1 && chunk <= pool.touched && !seen[chunk - 1], "a chunk is in one list");
        seen[chunk - 1] = true;
        last = i + 1 == chunks ? chunk : last;
        chunk = pool.next[chunk - 1];
    }
    PROVE(queue.last == last, "the queue ends with its last chunk");
    PROVE(pool.in_use == chunks + others && pool.touched <= CHUNKS, "all chunks are counted");
    PROVE(pool.in_use == pool.touched ? pool.free == 0 : chunk == 0, "the free list ends");
    for (size_t i = 0; i < CHUNKS; i++) {
        uint16_t theirs = (uint16_t)(order[i] - 1);
        PROVE(i < mine + unused || i >= mine + unused + others ||
                  (!seen[theirs] && pool.next[theirs] == before[theirs]),
              "other queues stay");
    }
}

/* ---- the steps ------------------------------------------------------------------------------- */

/* Before a channel: its queue's chunks are a number of bytes that is less than 2 chunks more. */
static void prove_capacity(void)
{
    const size_t more = 2 * (QUEUE_CHUNK_BYTES - 1);
    size_t bytes = 0, chunks = 0;
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        struct queue one = {.bytes = nondet_u32(),
                            .start = (uint16_t)nondet_unsigned(),
                            .end = (uint16_t)nondet_unsigned()};
        size_t count = nondet_u32();
        ASSUME(count <= LIMIT_WINDOWS_BYTES && queue_holds(&one, count));
        ASSUME(bytes + one.bytes <= LIMIT_WINDOWS_BYTES);
        bytes += one.bytes;
        chunks += count;
        PROVE(chunks * QUEUE_CHUNK_BYTES <= bytes + (i + 1) * more,
              "so many chunks, so many bytes");
        bytes = nondet_u32();
        chunks = nondet_u32();
        ASSUME(bytes <= LIMIT_WINDOWS_BYTES);
        ASSUME(chunks * QUEUE_CHUNK_BYTES <= bytes + (i + 1) * more);
    }
    PROVE(chunks <= QUEUE_CHUNKS, "the pool has room for all");
}

/* For as many as a packet has, if the pool has room: step 0. */
static void prove_add(void)
{
    size_t count = nondet_size(), bytes = queue.bytes, old = nondet_size();
    ASSUME(count <= sizeof(added));
    ASSUME((queue.start + bytes + count + QUEUE_CHUNK_BYTES - 1) / QUEUE_CHUNK_BYTES + others <=
           CHUNKS);
    watched = nondet_size();
    ASSUME(watched < count || count == 0);
    ASSUME(old < bytes || bytes == 0);
    const uint8_t *stays = bytes > 0 ? place_of(old) : NULL;
    queue_add(&pool, &queue, added, count);
    prove_valid(bytes + count);
    PROVE(count == 0 || arrived == place_of(bytes + watched), "it comes behind what is there");
    PROVE(bytes == 0 || stays == place_of(old), "what is there stays");
}

static void prove_drop(void)
{
    size_t count = nondet_size(), bytes = queue.bytes, old = nondet_size();
    ASSUME(count <= bytes && (old >= count && old < bytes || bytes == count));
    const uint8_t *stays = bytes > count ? place_of(old) : NULL;
    queue_drop(&pool, &queue, count);
    prove_valid(bytes - count);
    PROVE(bytes == count || stays == place_of(old - count), "the rest stays");
}

static void prove_front(void)
{
    size_t count = nondet_size();
    const uint8_t *front = queue_front(&pool, &queue, &count);
    PROVE((count == 0) == (queue.bytes == 0) && count <= queue.bytes, "only an empty one has none");
    PROVE(count == 0 || (front == place_of(0) && front + (count - 1) == place_of(count - 1)),
          "the oldest bytes");
    PROVE(count == queue.bytes || (queue.start + count) % QUEUE_CHUNK_BYTES == 0, "a whole chunk");
    prove_valid(queue.bytes);
}

int main(void)
{
    if (STEP == 0) {
        prove_capacity();
        return 0;
    }
    begin();
    switch (STEP) {
    case 1:
        prove_add();
        break;
    case 2:
        prove_drop();
        break;
    default:
        prove_front();
        break;
    }
    return 0;
}
