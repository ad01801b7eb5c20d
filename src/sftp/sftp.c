/*
 * A session: packets in, answers out. All requests that have arrived are answered before the
 * answers are sent, so that a client that sends many at once costs few system calls.
 */
#include "sftp.h"

#include <poll.h>

#include "process.h"

/* Returns the length of the packet at the start of the input, or 0 if it is not whole. */
static size_t whole_packet(struct sftp *sftp)
{
    size_t held = sftp->input_end - sftp->input_start;
    if (held < 4) {
        return 0;
    }
    uint32_t bytes = big_endian_read(sftp->input + sftp->input_start);
    if (bytes == 0 || bytes > LIMIT_SFTP_PACKET_BYTES) {
        sftp_end(sftp, bytes == 0 ? "packet without a type" : "packet is too long");
        return 0;
    }
    return held - 4 >= bytes ? bytes : 0;
}

static void answer_all(struct sftp *sftp)
{
    size_t bytes;
    while (sftp->ended == NULL && (bytes = whole_packet(sftp)) > 0) {
        if (sftp->answers.used >= LIMIT_SFTP_SEND_BYTES && !sftp_send(sftp)) {
            return;
        }
        if (!sftp->client_was_there && sftp_client_has_gone()) {
            sftp_end(sftp, "client has gone");
            return;
        }
        sftp->client_was_there = false;
        sftp_request(sftp, sftp->input + sftp->input_start + 4, bytes);
        sftp->input_start += 4 + bytes;
    }
    if (sftp->answers.used > 0) {
        sftp_send(sftp);
    }
}

/* A client that is idle needs no buffers. The wait also tells whether the client is still there, so
 * that the request that ends it needs no system call for that. */
static void rest_if_idle(struct sftp *sftp)
{
    struct pollfd ends[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = STDOUT_FILENO}};
    int ready = sftp->input_end == 0 ? poll(ends, 2, LIMIT_REST_MS) : -1;
    sftp->client_was_there = ready > 0 && ends[1].revents == 0;
    if (ready == 0 || (ready > 0 && ends[0].revents == 0)) {
        memory_give_back(sftp->entries,
                         (size_t)(sftp->output + sizeof(sftp->output) - sftp->entries));
        memory_give_back_stack();
    }
}

static void receive(struct sftp *sftp)
{
    size_t held = sftp->input_end - sftp->input_start;
    memmove(sftp->input, sftp->input + sftp->input_start, held);
    sftp->input_start = 0;
    sftp->input_end = held;
    rest_if_idle(sftp);
    ssize_t got = read(STDIN_FILENO, sftp->input + held, sizeof(sftp->input) - held);
    if (got > 0) {
        sftp->input_end += (size_t)got;
    } else if (got == 0 && held == 0) {
        sftp->ended = "client has left";
    } else if (got == 0 || errno != EINTR) {
        sftp_end(sftp, "client has gone in the middle of a packet");
    }
}

void sftp_run(struct sftp *sftp)
{
    writer_init(&sftp->answers, sftp->output, sizeof(sftp->output));
    while (sftp->ended == NULL) {
        receive(sftp);
        answer_all(sftp);
    }
}
