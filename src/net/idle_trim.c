#include "idle_trim.h"

#include "connection.h"
#include "memory.h"

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

/* A key exchange leaves more behind than its bytes in the buffers tell, most of it on the stack; so
 * does the begin of a session, when a slow login has had its rest before. */
static bool kex_to_spare(const struct connection *connection)
{
    return !connection->kex.sent && (connection->kex.since_ms > connection->spared_ms ||
                                     connection->begun_ms > connection->spared_ms);
}

bool idle_trim_due(const struct connection *connection)
{
    return kex_to_spare(connection) || input_to_spare(connection) || output_to_spare(connection) ||
           pool_to_spare(connection);
}

/* The buffers of the key exchange; with input and output, by one call, if both are empty. */
static void give_back_kex(struct connection *connection)
{
    struct buffers *buffers = &connection->buffers;
    if (connection->input_end == 0 && connection->output_end == 0) {
        memory_give_back(buffers, sizeof(*buffers));
        connection->input_touched = connection->output_touched = 0;
    } else {
        memory_give_back(&buffers->kex, sizeof(buffers->kex));
    }
    connection->spared_ms = connection->now_ms;
}

void idle_trim(struct connection *connection)
{
    if (!idle_trim_due(connection)) {
        return;
    }
    if (kex_to_spare(connection)) {
        give_back_kex(connection);
    }
    if (input_to_spare(connection)) {
        memory_give_back(connection->buffers.input, sizeof(connection->buffers.input));
        connection->input_touched = 0;
    }
    if (output_to_spare(connection)) {
        memory_give_back(connection->buffers.output, sizeof(connection->buffers.output));
        connection->output_touched = 0;
    }
    struct pool *pool = &connection->pool;
    if (pool_to_spare(connection)) {
        memory_give_back(pool->chunks[0], pool->touched * sizeof(pool->chunks[0]));
        pool->touched = pool->free = 0;
    }
    memory_give_back_stack();
}
