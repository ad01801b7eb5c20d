#include "net.h"

#include <fcntl.h>

void channel_init(struct channel *channel)
{
    /* Without the environment: its pages stay untouched until a client sends variables. */
    memset(channel, 0, offsetof(struct channel, environment));
    channel->child_stdin = -1;
    channel->child_stdout = -1;
    channel->child_stderr = -1;
    channel->child_exit = -1;
}

struct channel *channel_find_free(struct connection *connection)
{
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        if (!channel_is_open(&connection->channels[i])) {
            return &connection->channels[i];
        }
    }
    return NULL;
}

void channel_open(struct connection *connection, struct channel *channel, uint32_t remote,
                  uint32_t remote_window, uint32_t remote_packet)
{
    uint32_t used = channel_number(connection, channel) + 1;
    if (used > connection->channels_used) {
        connection->channels_used = used;
    }
    channel_init(channel);
    channel->remote = remote;
    channel->remote_window = remote_window;
    channel->remote_packet = (uint32_t)smaller(remote_packet, LIMIT_CHANNEL_PACKET_BYTES);
    channel->limit = channel->window = LIMIT_WINDOW_BYTES;
    channel->input = INPUT_WAITING;
    channel->output = OUTPUT_WAITING;
}

bool channel_is_open(const struct channel *channel)
{
    return channel->output != OUTPUT_FREE;
}

bool channel_is_live(const struct channel *channel)
{
    return channel->output >= OUTPUT_OPEN && channel->output < OUTPUT_CLOSED;
}

bool channel_several_live(const struct connection *connection)
{
    size_t live = 0;
    for (size_t i = 0; i < connection->channels_used; i++) {
        live += channel_is_live(&connection->channels[i]);
    }
    return live > 1;
}

uint32_t channel_number(const struct connection *connection, const struct channel *channel)
{
    return (uint32_t)INDEX_IN(connection->channels, channel);
}

size_t channel_waiting_bytes(const struct connection *connection, const struct channel *channel)
{
    const struct stdin_batch *batch = &connection->stdin_batch;
    return channel->pending.bytes + (batch->channel == channel ? batch->bytes : 0);
}

static struct channel *refuse_not_open(struct connection *connection)
{
    connection_refuse(connection, SSH_DISCONNECT_PROTOCOL_ERROR,
                      "message for a channel that is not open");
    return NULL;
}

struct channel *channel_read_any(struct connection *connection, struct reader *message)
{
    uint32_t number = reader_u32(message);
    bool exists = !message->failed && number < LIMIT_CHANNELS;
    return exists ? &connection->channels[number] : refuse_not_open(connection);
}

struct channel *channel_read_open(struct connection *connection, struct reader *message)
{
    struct channel *channel = channel_read_any(connection, message);
    return channel == NULL || channel_is_open(channel) ? channel : refuse_not_open(connection);
}

void channel_send(struct connection *connection, const struct channel *channel,
                  enum ssh_message number)
{
    struct writer message = message_begin(connection, number);
    writer_u32(&message, channel->remote);
    message_send(connection, &message);
}

struct writer channel_request_begin(struct connection *connection, const struct channel *channel,
                                    const char *type)
{
    struct writer message = message_begin(connection, SSH_MSG_CHANNEL_REQUEST);
    writer_u32(&message, channel->remote);
    writer_text(&message, type);
    writer_bool(&message, false);
    return message;
}

bool channel_widen_pipe(int fd, bool *widened)
{
    if (*widened) {
        return false;
    }
    *widened = true;
    int bytes = fcntl(fd, F_GETPIPE_SZ);
    return bytes >= 0 && bytes < LIMIT_PIPE_BYTES && fcntl(fd, F_SETPIPE_SZ, LIMIT_PIPE_BYTES) > 0;
}

/* ---- its queue ------------------------------------------------------------------------------- */

static void add_chunk(struct pool *pool, struct queue *queue)
{
    uint16_t chunk = pool->free;
    if (chunk != 0) {
        pool->free = pool->next[chunk - 1];
    } else {
        chunk = ++pool->touched;
    }
    pool->in_use++;
    if (queue->last != 0) {
        pool->next[queue->last - 1] = chunk;
    } else {
        queue->first = chunk;
        queue->start = 0;
    }
    queue->last = chunk;
    queue->end = 0;
}

static void drop_chunk(struct pool *pool, struct queue *queue)
{
    uint16_t chunk = queue->first;
    queue->first = pool->next[chunk - 1];
    queue->start = 0;
    pool->next[chunk - 1] = pool->free;
    pool->free = chunk;
    pool->in_use--;
}

void queue_add(struct pool *pool, struct queue *queue, const uint8_t *bytes, size_t count)
{
    while (count > 0) {
        if (queue->last == 0 || queue->end == QUEUE_CHUNK_BYTES) {
            add_chunk(pool, queue);
        }
        size_t part = smaller(count, QUEUE_CHUNK_BYTES - (size_t)queue->end);
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
        part = smaller(count, part);
        queue->start = (uint16_t)(queue->start + part);
        queue->bytes -= part;
        count -= part;
        if (queue->bytes == 0 || queue->start == QUEUE_CHUNK_BYTES) {
            drop_chunk(pool, queue);
        }
        if (queue->bytes == 0) {
            *queue = (struct queue){0};
        }
    }
}
