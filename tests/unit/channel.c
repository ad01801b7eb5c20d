/*
 * The queues of channels over one pool: order, chunks that come back, and that the pool is enough
 * for all that windows allow, however it is spread and taken.
 */
#include "channels.h"
#include "net.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define QUEUES LIMIT_CHANNELS

static struct pool *pool;
static struct queue queues[QUEUES];
static uint8_t stream[1 << 20];

static void start(void)
{
    pool = calloc(1, sizeof(*pool));
    ck_assert_ptr_nonnull(pool);
    memset(queues, 0, sizeof(queues));
    for (size_t i = 0; i < sizeof(stream); i++) {
        stream[i] = (uint8_t)(i * 11 + i / 253);
    }
}

static void finish(void)
{
    free(pool);
}

UNIT_FIXTURE(start, finish);
UNIT_TIMEOUT(60);

/* Takes up to `most` bytes off and compares them with what was put in. */
static size_t take(struct queue *queue, const uint8_t *expected, size_t most)
{
    size_t taken = 0;
    while (taken < most && queue->bytes > 0) {
        size_t count;
        const uint8_t *front = queue_front(pool, queue, &count);
        ck_assert_uint_gt(count, 0);
        count = count < most - taken ? count : most - taken;
        ck_assert_mem_eq(front, expected + taken, count);
        queue_drop(pool, queue, count);
        taken += count;
    }
    return taken;
}

TEST(first_in_first_out)
{
    struct queue *queue = &queues[0];
    size_t added = 0, taken = 0;
    for (size_t step = 1; taken < sizeof(stream); step = step * 7 % 65521) {
        size_t count = sizeof(stream) - added;
        count = count < step ? count : step;
        queue_add(pool, queue, stream + added, count);
        added += count;
        ck_assert_uint_eq(queue->bytes, added - taken);
        taken += take(queue, stream + taken, added == sizeof(stream) ? added : step * 5 % 50021);
    }
    ck_assert_uint_eq(pool->in_use, 0);
    ck_assert_uint_eq(queue->bytes, 0);
}

TEST(nothing_is_in_front_of_an_empty_one)
{
    size_t count = 77;
    ck_assert_ptr_null(queue_front(pool, &queues[0], &count));
    ck_assert_uint_eq(count, 0);
    queue_add(pool, &queues[0], stream, 0);
    ck_assert_uint_eq(pool->in_use, 0);
    queue_drop(pool, &queues[0], 0);
    queue_add(pool, &queues[0], stream, 1);
    ck_assert_uint_eq(pool->in_use, 1);
}

/* Freed chunks are used again first, so that untouched chunks stay untouched. */
TEST(chunks_are_used_again)
{
    for (int round = 0; round < 1000; round++) {
        struct queue *queue = &queues[round % QUEUES];
        queue_add(pool, queue, stream, 3 * QUEUE_CHUNK_BYTES);
        ck_assert_uint_eq(take(queue, stream, SIZE_MAX), 3 * QUEUE_CHUNK_BYTES);
    }
    ck_assert_uint_eq(pool->touched, 3);
}

/* The worst that windows allow: each queue's first chunk is all but taken, its last has one byte,
 * and one queue has all of the growth. */
TEST_EACH(the_pool_is_enough, 2)
{
    size_t total = 0;
    for (size_t i = 0; i < QUEUES; i++) {
        size_t window = i == (size_t)_i ? LIMIT_LARGEST_WINDOW_BYTES : LIMIT_WINDOW_BYTES;
        size_t left = window;
        queue_add(pool, &queues[i], stream, QUEUE_CHUNK_BYTES);
        take(&queues[i], stream, QUEUE_CHUNK_BYTES - 1);
        for (left--; left > 0;) {
            size_t count = left < sizeof(stream) ? left : sizeof(stream);
            queue_add(pool, &queues[i], stream, count);
            left -= count;
        }
        ck_assert_uint_eq(queues[i].bytes, window);
        total += window;
        ck_assert_uint_le(pool->in_use, QUEUE_CHUNKS);
    }
    ck_assert_uint_eq(total, LIMIT_WINDOWS_BYTES);
    for (size_t i = 0; i < QUEUES; i++) {
        queue_drop(pool, &queues[i], queues[i].bytes);
    }
    ck_assert_uint_eq(pool->in_use, 0);
    ck_assert_uint_le(pool->touched, QUEUE_CHUNKS);
}

/* Each has its own bytes, whatever the others do. */
TEST(queues_do_not_mix)
{
    size_t added[QUEUES] = {0}, taken[QUEUES] = {0};
    uint32_t random = 1;
    for (int step = 0; step < 4000; step++) {
        random = random * 1664525 + 1013904223;
        size_t i = (random >> 8) % QUEUES;
        size_t count = (random >> 12) % 30000;
        if (random >> 31 != 0 && queues[i].bytes + count <= LIMIT_WINDOW_BYTES &&
            added[i] + count <= sizeof(stream) - i) {
            queue_add(pool, &queues[i], stream + i + added[i], count);
            added[i] += count;
        } else {
            taken[i] += take(&queues[i], stream + i + taken[i], count);
        }
        ck_assert_uint_eq(queues[i].bytes, added[i] - taken[i]);
    }
}
