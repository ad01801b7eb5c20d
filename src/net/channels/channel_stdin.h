/*
 * The input half: the client's data to the program's stdin. Data is decrypted where it was read,
 * and goes from there into the program's stdin: that of several packets in one call of writev().
 * What the program does not take waits there until the input buffer is needed for more, and then in
 * the channel's queue.
 */
#ifndef WREN_CHANNEL_STDIN_H
#define WREN_CHANNEL_STDIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct channel;
struct connection;

/* Enough for full packets of a whole input buffer, or for as many small ones. */
#define STDIN_BATCH_PARTS 16

/* Data for one program, to be written by the next call. */
struct stdin_batch {
    struct channel *channel; /* NULL for none */
    int count;
    size_t bytes;
    bool held; /* the program did not take all: the rest waits until poll() finds room */
    struct iovec parts[STDIN_BATCH_PARTS]; /* in the input buffer */
};

/* The program runs, and reads from the other end of `fd`: a pipe, or the terminal's master, which
 * channel_stdout.c closes. */
void channel_stdin_start(struct connection *connection, struct channel *channel, int fd);

/*
 * Data from the client, already taken off its window. The bytes must stay where they are until
 * channel_stdin_flush(). Data that no program can take any more counts as consumed.
 */
void channel_stdin_data(struct connection *connection, struct channel *channel, const uint8_t *data,
                        size_t count);

/* Writes what channel_stdin_data() has collected: in each turn, and before CHANNEL_EOF or
 * CHANNEL_CLOSE is handled, which must not overtake it. What the program does not take stays in the
 * input buffer: a slow program costs neither a copy nor the memory for it. */
void channel_stdin_write(struct connection *connection);

/* The same, and queues the rest: before CHANNEL_EXTENDED_DATA or CHANNEL_REQUEST is handled, and
 * before the input buffer is used again. Other messages of the same read are handled first, a key
 * exchange too. */
void channel_stdin_flush(struct connection *connection);

/* Writes what is queued, if poll() found room for it. */
void channel_stdin_drain(struct connection *connection, struct channel *channel);

/* The client's EOF: the program's stdin is closed once nothing is queued. A terminal has no such
 * end of input: its programs read on until they exit. */
void channel_stdin_eof(struct connection *connection, struct channel *channel);

/* The program has closed its stdin. Its output goes on; what the client sends is discarded. */
void channel_stdin_break(struct connection *connection, struct channel *channel);

/* Closes the program's stdin, and drops what is queued. */
void channel_stdin_shut(struct connection *connection, struct channel *channel);

/* In state BROKEN: tells an OpenSSH client that it can stop sending (OpenSSH's PROTOCOL, section
 * 2.1). Other clients may answer a request that they do not know, though it wants no reply. */
void channel_stdin_send_eow(struct connection *connection, struct channel *channel);

/*
 * While the only program reads more slowly than its client sends, and LIMIT_PENDING_BYTES
 * wait for it, the socket is left unread, so that TCP slows the client down: until when, or 0 for
 * not at all. Never for long: the program may wait for a message that follows the data.
 */
uint64_t channel_stdin_pause_until_ms(const struct connection *connection);

#endif
