/*
 * As much of SFTP version 3 (draft-ietf-secsh-filexfer-02) as a transfer takes, a request at a
 * time.
 */
#include <string.h>

#include "fail.h"
#include "life.h"
#include "measure.h"

enum {
    INIT = 1,
    VERSION = 2,
    OPEN = 3,
    CLOSE = 4,
    READ = 5,
    WRITE = 6,
    REMOVE = 13,
    STATUS = 101,
    HANDLE = 102,
    DATA = 103,
};

/* A worker has one SFTP session at a time. */
static uint8_t answer[65536];
static size_t answer_bytes;
static uint32_t last_id;

static void take(const struct reader *data)
{
    if (data->left > sizeof(answer) - answer_bytes) {
        fail("sftp", "the answer is too long");
    }
    memcpy(answer + answer_bytes, data->bytes, data->left);
    answer_bytes += data->left;
}

/* Waits for the next answer; the reader stands behind its type. */
static uint8_t await(struct sftp *sftp, struct reader *reader)
{
    for (;;) {
        *reader = reader_over(answer, answer_bytes);
        uint32_t bytes = reader_u32(reader);
        if (!reader->failed && bytes == reader->left) {
            answer_bytes = 0;
            return reader_u8(reader);
        }
        if (sftp->session->close_received) {
            fail("sftp", "the server has ended");
        }
        client_turn(sftp->client, true);
    }
}

static void send_packet(struct sftp *sftp, const uint8_t *bytes, size_t count)
{
    while (sftp->session->remote_window < count + sizeof(uint32_t)) {
        client_turn(sftp->client, true);
    }
    struct writer message = client_message(sftp->client, SSH_MSG_CHANNEL_DATA);
    writer_u32(&message, sftp->session->remote);
    size_t data = writer_string_begin(&message);
    writer_string(&message, bytes, count);
    writer_string_end(&message, data);
    client_send(sftp->client, &message);
    sftp->session->remote_window -= (uint32_t)(count + sizeof(uint32_t));
}

/* Requests start with type and id; at most a write's 8 KiB are in them. */
static struct writer request(uint8_t *bytes, size_t capacity, uint8_t type)
{
    struct writer writer;
    writer_init(&writer, bytes, capacity);
    writer_u8(&writer, type);
    writer_u32(&writer, ++last_id);
    return writer;
}

static uint8_t ask(struct sftp *sftp, const uint8_t *bytes, const struct writer *writer,
                   struct reader *reader)
{
    if (writer_failed(writer)) {
        fail("sftp", "the request is too long");
    }
    send_packet(sftp, bytes, writer->used);
    uint8_t type = await(sftp, reader);
    if (reader_u32(reader) != last_id) {
        fail("sftp", "an answer to another request");
    }
    return type;
}

static void expect_ok(struct sftp *sftp, const uint8_t *bytes, const struct writer *writer)
{
    struct reader reader;
    uint8_t type = ask(sftp, bytes, writer, &reader);
    uint32_t status = reader_u32(&reader);
    if (type != STATUS || status != 0) {
        fail("sftp", "request %u is answered with %u, status %u", bytes[0], type, (unsigned)status);
    }
}

void sftp_begin(struct sftp *sftp, struct client *client)
{
    static const uint8_t init[] = {INIT, 0, 0, 0, 3};
    struct reader reader;
    *sftp = (struct sftp){.client = client, .session = session_ask(client)};
    answer_bytes = 0;
    sftp->session->take = take;
    while (!sftp->session->open) {
        client_turn(client, true);
    }
    struct writer message = client_message(client, SSH_MSG_CHANNEL_REQUEST);
    writer_u32(&message, sftp->session->remote);
    writer_text(&message, "subsystem");
    writer_bool(&message, true);
    writer_text(&message, "sftp");
    client_send(client, &message);
    sftp->session->unanswered++;
    sftp->session->asked_ns = measure_now_ns();
    send_packet(sftp, init, sizeof(init));
    if (await(sftp, &reader) != VERSION) {
        fail("sftp", "no VERSION");
    }
}

void sftp_open(struct sftp *sftp, const char *name, uint32_t flags)
{
    uint8_t bytes[256];
    struct reader reader;
    struct writer writer = request(bytes, sizeof(bytes), OPEN);
    writer_text(&writer, name);
    writer_u32(&writer, flags);
    writer_u32(&writer, 0); /* no attributes */
    uint8_t type = ask(sftp, bytes, &writer, &reader);
    struct reader handle = reader_string(&reader);
    if (type != HANDLE || handle.left > sizeof(sftp->handle)) {
        fail("sftp", "OPEN is answered with %u", type);
    }
    sftp->handle_bytes = handle.left;
    memcpy(sftp->handle, handle.bytes, handle.left);
}

static void write_place(struct writer *writer, const struct sftp *sftp, uint32_t offset)
{
    writer_string(writer, sftp->handle, sftp->handle_bytes);
    writer_u32(writer, 0);
    writer_u32(writer, offset);
}

void sftp_write(struct sftp *sftp, uint32_t offset, const uint8_t *data, uint32_t count)
{
    uint8_t bytes[9000];
    struct writer writer = request(bytes, sizeof(bytes), WRITE);
    write_place(&writer, sftp, offset);
    writer_string(&writer, data, count);
    expect_ok(sftp, bytes, &writer);
}

void sftp_read(struct sftp *sftp, uint32_t offset, const uint8_t *expected, uint32_t count)
{
    uint8_t bytes[256];
    struct reader reader;
    struct writer writer = request(bytes, sizeof(bytes), READ);
    write_place(&writer, sftp, offset);
    writer_u32(&writer, count);
    uint8_t type = ask(sftp, bytes, &writer, &reader);
    struct reader data = reader_string(&reader);
    if (type != DATA || !reader_equals(&data, expected, count)) {
        fail("sftp", "other data came back than was written");
    }
}

void sftp_close(struct sftp *sftp)
{
    uint8_t bytes[256];
    struct writer writer = request(bytes, sizeof(bytes), CLOSE);
    writer_string(&writer, sftp->handle, sftp->handle_bytes);
    expect_ok(sftp, bytes, &writer);
}

void sftp_remove(struct sftp *sftp, const char *name)
{
    uint8_t bytes[256];
    struct writer writer = request(bytes, sizeof(bytes), REMOVE);
    writer_text(&writer, name);
    expect_ok(sftp, bytes, &writer);
}

void sftp_end(struct sftp *sftp)
{
    sftp->session->eof_due = true;
    session_finish(sftp->client, sftp->session);
}
