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

/* At most a write's 8 KiB are in a request. */
#define REQUEST_BYTES 9000

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
    client_say(sftp->client, "bu(d)", SSH_MSG_CHANNEL_DATA, sftp->session->remote, bytes, count);
    sftp->session->remote_window -= (uint32_t)(count + sizeof(uint32_t));
}

/* Sends the request and waits for its answer. The reader stands behind the answer's identifier. */
static uint8_t ask_list(struct sftp *sftp, struct reader *reader, uint8_t type, const char *format,
                        va_list arguments)
{
    uint8_t bytes[REQUEST_BYTES];
    struct fields request = FIELDS_IN(bytes);
    fields_put(&request, "bu", type, ++last_id);
    fields_put_list(&request, format, arguments);
    if (request.full) {
        fail("sftp", "the request is too long");
    }
    send_packet(sftp, bytes, request.used);
    uint8_t answered = await(sftp, reader);
    if (reader_u32(reader) != last_id) {
        fail("sftp", "an answer to another request");
    }
    return answered;
}

static uint8_t ask(struct sftp *sftp, struct reader *reader, uint8_t type, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    uint8_t answered = ask_list(sftp, reader, type, format, arguments);
    va_end(arguments);
    return answered;
}

static void expect_ok(struct sftp *sftp, uint8_t type, const char *format, ...)
{
    struct reader reader;
    va_list arguments;
    va_start(arguments, format);
    uint8_t answered = ask_list(sftp, &reader, type, format, arguments);
    va_end(arguments);
    uint32_t status = reader_u32(&reader);
    if (answered != STATUS || status != 0) {
        fail("sftp", "request %u is answered with %u, status %u", type, answered, (unsigned)status);
    }
}

void sftp_begin(struct sftp *sftp, struct client *client)
{
    static const uint8_t init[] = {INIT, 0, 0, 0, 3};
    struct reader reader;
    *sftp = (struct sftp){.client = client, .session = session_ask(client)};
    answer_bytes = 0;
    sftp->session->take = take;
    client_await(client, &sftp->session->open);
    client_say(client, "busbs", SSH_MSG_CHANNEL_REQUEST, sftp->session->remote, "subsystem", true,
               "sftp");
    sftp->session->unanswered++;
    sftp->session->asked_ns = measure_now_ns();
    send_packet(sftp, init, sizeof(init));
    if (await(sftp, &reader) != VERSION) {
        fail("sftp", "no VERSION");
    }
}

void sftp_open(struct sftp *sftp, const char *name, uint32_t flags)
{
    struct reader reader;
    uint8_t type = ask(sftp, &reader, OPEN, "suu", name, flags, 0); /* no attributes */
    struct reader handle = reader_string(&reader);
    if (type != HANDLE || handle.left > sizeof(sftp->handle)) {
        fail("sftp", "OPEN is answered with %u", type);
    }
    sftp->handle_bytes = handle.left;
    memcpy(sftp->handle, handle.bytes, handle.left);
}

void sftp_write(struct sftp *sftp, uint32_t offset, const uint8_t *data, uint32_t count)
{
    expect_ok(sftp, WRITE, "duud", sftp->handle, sftp->handle_bytes, 0, offset, data,
              (size_t)count);
}

void sftp_read(struct sftp *sftp, uint32_t offset, const uint8_t *expected, uint32_t count)
{
    struct reader reader;
    uint8_t type =
        ask(sftp, &reader, READ, "duuu", sftp->handle, sftp->handle_bytes, 0, offset, count);
    struct reader data = reader_string(&reader);
    if (type != DATA || !reader_equals(&data, expected, count)) {
        fail("sftp", "other data came back than was written");
    }
}

void sftp_close(struct sftp *sftp)
{
    expect_ok(sftp, CLOSE, "d", sftp->handle, sftp->handle_bytes);
}

void sftp_remove(struct sftp *sftp, const char *name)
{
    expect_ok(sftp, REMOVE, "s", name);
}

void sftp_end(struct sftp *sftp)
{
    sftp->session->eof_due = true;
    session_finish(sftp->client, sftp->session);
}
