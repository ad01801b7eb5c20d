/*
 * Data that programs have not read yet: a queue of bytes for each channel, made of chunks of one
 * pool. Chunks that were never used are never touched, so they take no memory.
 */
#ifndef WREN_QUEUE_H
#define WREN_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "limit.h"

#define QUEUE_CHUNK_BYTES 32768

/* All that a client may have sent, in whole chunks; the first and the last chunk of each queue may
 * be partly empty. */
#define QUEUE_CHUNKS (LIMIT_WINDOWS_BYTES / QUEUE_CHUNK_BYTES + 2 * LIMIT_CHANNELS)

/* All zero is empty. */
struct queue {
    size_t bytes;
    uint16_t first, last; /* chunks, numbered from 1; 0 for none */
    uint16_t start, end;  /* where data starts in the first chunk, and ends in the last */
};

/* All zero is an empty pool. */
struct pool {
    uint16_t in_use;             /* chunks that belong to queues */
    uint16_t touched;            /* chunks 1 to `touched` have been written to */
    uint16_t free;               /* the first of these that belongs to no queue; 0 for none */
    uint16_t next[QUEUE_CHUNKS]; /* the chunk after each one, in its queue or in the free list */
    uint8_t chunks[QUEUE_CHUNKS][QUEUE_CHUNK_BYTES];
};

/* Appends bytes. The caller makes sure, by the windows of its channels, that all queues of a pool
 * together hold LIMIT_WINDOWS_BYTES at most. */
void queue_add(struct pool *pool, struct queue *queue, const uint8_t *bytes, size_t count);

/* The oldest bytes that are contiguous; *count is their number, and 0 only for an empty queue. */
const uint8_t *queue_front(const struct pool *pool, const struct queue *queue, size_t *count);

/* Removes the `count` oldest bytes; there must be as many. */
void queue_drop(struct pool *pool, struct queue *queue, size_t count);

#endif
