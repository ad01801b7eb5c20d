#include "queue.h"

#include <string.h>

static uint16_t take_chunk(struct pool *pool)
{
    uint16_t chunk = pool->free;
    if (chunk != 0) {
        pool->free = pool->next[chunk - 1];
    } else {
        chunk = ++pool->touched;
    }
    pool->in_use++;
    return chunk;
}

static void give_chunk(struct pool *pool, uint16_t chunk)
{
    pool->next[chunk - 1] = pool->free;
    pool->free = chunk;
    pool->in_use--;
}

static void add_chunk(struct pool *pool, struct queue *queue)
{
    uint16_t chunk = take_chunk(pool);
    if (queue->last != 0) {
        pool->next[queue->last - 1] = chunk;
    } else {
        queue->first = chunk;
        queue->start = 0;
    }
    queue->last = chunk;
    queue->end = 0;
}

void queue_add(struct pool *pool, struct queue *queue, const uint8_t *bytes, size_t count)
{
    while (count > 0) {
        if (queue->last == 0 || queue->end == QUEUE_CHUNK_BYTES) {
            add_chunk(pool, queue);
        }
        size_t room = QUEUE_CHUNK_BYTES - (size_t)queue->end;
        size_t part = count < room ? count : room;
        memcpy(pool->chunks[queue->last - 1] + queue->end, bytes, part);
        queue->end = (uint16_t)(queue->end + part);
        queue->bytes += part;
        bytes += part;
        count -= part;
    }
}

const uint8_t *queue_front(const struct pool *pool, const struct queue *queue, size_t *count)
{
    if (queue->bytes == 0) {
        *count = 0;
        return NULL;
    }
    size_t end = queue->first == queue->last ? queue->end : QUEUE_CHUNK_BYTES;
    *count = end - queue->start;
    return pool->chunks[queue->first - 1] + queue->start;
}

void queue_drop(struct pool *pool, struct queue *queue, size_t count)
{
    while (count > 0) {
        size_t part;
        queue_front(pool, queue, &part);
        part = count < part ? count : part;
        queue->start = (uint16_t)(queue->start + part);
        queue->bytes -= part;
        count -= part;
        if (queue->bytes == 0) {
            give_chunk(pool, queue->first);
            *queue = (struct queue){0};
        } else if (queue->start == QUEUE_CHUNK_BYTES) {
            uint16_t empty = queue->first;
            queue->first = pool->next[empty - 1];
            queue->start = 0;
            give_chunk(pool, empty);
        }
    }
}
