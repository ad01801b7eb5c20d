/*
 * What programs do not take yet: a queue of bytes for each channel, all of them in chunks of one
 * pool. What was never needed of the pool was never touched, and takes no memory.
 */
#ifndef WREN_QUEUE_H
#define WREN_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "limit.h"

#define QUEUE_CHUNK_BYTES 32768

/* All that clients may have sent, in whole chunks; and of each queue the first may be partly taken
 * and the last partly filled. */
#define QUEUE_CHUNKS (LIMIT_WINDOWS_BYTES / QUEUE_CHUNK_BYTES + 2 * LIMIT_CHANNELS)

/* All zero is empty. */
struct queue {
    size_t bytes;
    uint16_t first, last; /* chunks, numbered from 1; 0 for none */
    uint16_t start, end;  /* the first chunk is taken up to here, the last filled up to here */
};

/* All zero is a pool that nobody uses. */
struct pool {
    uint16_t in_use;             /* chunks of queues */
    uint16_t touched;            /* chunks 1 to `touched` have been written to */
    uint16_t free;               /* the first of the touched ones that no queue has; 0 for none */
    uint16_t next[QUEUE_CHUNKS]; /* behind each chunk, in its queue or among the free ones */
    uint8_t chunks[QUEUE_CHUNKS][QUEUE_CHUNK_BYTES];
};

/* All queues of a pool together never hold more than LIMIT_WINDOWS_BYTES: the caller sees to it,
 * by the windows that it gives away. */
void queue_add(struct pool *pool, struct queue *queue, const uint8_t *bytes, size_t count);

/* The oldest bytes that lie in one piece, and how many they are: 0 only for an empty queue. */
const uint8_t *queue_front(const struct pool *pool, const struct queue *queue, size_t *count);

/* Takes `count` of the oldest bytes off, not more than there are. */
void queue_drop(struct pool *pool, struct queue *queue, size_t count);

#endif
