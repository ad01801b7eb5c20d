#include "pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include "connection.h"

/* A keystroke and its echo touch no more than this of a buffer, and are not to cost a system call
 * and page faults each time. */
#define KEPT_BYTES 4096

static bool input_to_spare(const struct connection *connection)
{
    return connection->input_end == 0 && connection->input_touched > KEPT_BYTES;
}

static bool output_to_spare(const struct connection *connection)
{
    return connection->output_end == 0 && connection->output_touched > KEPT_BYTES;
}

static bool pool_to_spare(const struct connection *connection)
{
    return connection->pool.in_use == 0 && connection->pool.touched > 0;
}

bool pages_to_spare(const struct connection *connection)
{
    return input_to_spare(connection) || output_to_spare(connection) || pool_to_spare(connection);
}

/* Whole pages only: what stands beside the buffer shares its first and last. */
static void give_back(uint8_t *bytes, size_t touched)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t before = (page - (uintptr_t)bytes % page) % page;
    if (touched > before) {
        madvise(bytes + before, (touched - before) / page * page, MADV_DONTNEED);
    }
}

void pages_give_back(struct connection *connection)
{
    if (input_to_spare(connection)) {
        give_back(connection->input, connection->input_touched);
        connection->input_touched = 0;
    }
    if (output_to_spare(connection)) {
        give_back(connection->output, connection->output_touched);
        connection->output_touched = 0;
    }
    struct pool *pool = &connection->pool;
    if (pool_to_spare(connection)) {
        give_back(pool->chunks[0], (size_t)pool->touched * QUEUE_CHUNK_BYTES);
        pool->touched = pool->free = 0;
    }
}
