#include "net.h"

/* A keystroke and its echo use less than this of a buffer. They should not cost a system call and
 * page faults each time. */
#define KEPT_BYTES 4096

/* False as well while a program has not taken data from there. */
static bool input_is_empty(const struct connection *connection)
{
    return connection->input_start == connection->input_end &&
           connection->stdin_batch.channel == NULL;
}

static bool input_is_due(const struct connection *connection)
{
    return input_is_empty(connection) && connection->pages.input_touched > KEPT_BYTES;
}

static bool output_is_due(const struct connection *connection)
{
    return connection->output_end == 0 && connection->pages.output_touched > KEPT_BYTES;
}

static bool pool_is_due(const struct connection *connection)
{
    return connection->pool.in_use == 0 && connection->pool.touched > 0;
}

/* A key exchange and the start of a session use more memory than their bytes in the buffers, most
 * of it on the stack. The pages may have been returned before them: during a slow login. */
static bool kex_is_due(const struct connection *connection)
{
    return !connection->kex.sent && (connection->kex.since_ms > connection->pages.spared_ms ||
                                     connection->pages.begun_ms > connection->pages.spared_ms);
}

bool idle_trim_due(const struct connection *connection)
{
    return kex_is_due(connection) || input_is_due(connection) || output_is_due(connection) ||
           pool_is_due(connection);
}

void idle_trim_before_bulk(struct connection *connection)
{
    if (kex_is_due(connection)) {
        idle_trim(connection);
    }
}

void idle_trim(struct connection *connection)
{
    struct buffers *buffers = &connection->buffers;
    struct pool *pool = &connection->pool;
    if (!idle_trim_due(connection)) {
        return;
    }
    if (kex_is_due(connection)) {
        /* One call for all, if nothing waits. */
        if (input_is_empty(connection) && connection->output_end == 0) {
            memory_give_back(buffers, sizeof(*buffers));
            connection->pages.input_touched = connection->pages.output_touched = 0;
        } else {
            memory_give_back(&buffers->kex, sizeof(buffers->kex));
        }
        connection->pages.spared_ms = connection->now_ms;
    }
    if (input_is_due(connection)) {
        memory_give_back(buffers->input, sizeof(buffers->input));
        connection->pages.input_touched = 0;
    }
    if (output_is_due(connection)) {
        memory_give_back(buffers->output, sizeof(buffers->output));
        connection->pages.output_touched = 0;
    }
    if (pool_is_due(connection)) {
        memory_give_back(pool->chunks[0], pool->touched * sizeof(pool->chunks[0]));
        pool->touched = pool->free = 0;
    }
    memory_give_back_stack();
}
