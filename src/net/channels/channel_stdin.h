/*
 * From the client to programs: data is decrypted where it was read and goes straight on into the
 * program's stdin, that of several packets in one call. What the program does not take waits in the
 * channel's queue.
 */
#ifndef WREN_CHANNEL_STDIN_H
#define WREN_CHANNEL_STDIN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct channel;
struct connection;

/* Enough for full packets of a whole input buffer, and for a good many small ones. */
#define FEED_PARTS 16

/* What one program gets with the next call. */
struct feed {
    struct channel *channel; /* NULL for none */
    int count;
    size_t bytes;
    struct iovec parts[FEED_PARTS]; /* in the input buffer */
};

/*
 * Data from the client, within the window already spent. The bytes must stay where they are until
 * channel_stdin_flush(). Data for a program that takes none any more counts as consumed.
 */
void channel_stdin_data(struct connection *connection, struct channel *channel, const uint8_t *data,
                        size_t count);

/* Hands over what channel_stdin_data() has collected: before anything else is done to a channel,
 * and before the input buffer moves. */
void channel_stdin_flush(struct connection *connection);

/* What waits, as far as the program takes it now. */
void channel_stdin_drain(struct connection *connection, struct channel *channel);

/*
 * While a program reads more slowly than its client sends, and enough of that is here, the rest can
 * stay where the client notices it, in the socket: until when, or 0 if not at all. Not while that
 * might keep something from another session; and not for long, as it may be in front of a message
 * that the program itself waits for.
 */
uint64_t channel_stdin_enough_until_ms(const struct connection *connection);

/* The program has closed its stdin: what the client sends from now on is discarded. */
void channel_stdin_break(struct connection *connection, struct channel *channel);

/* After the client's EOF: closes the program's stdin once nothing waits. A terminal has no end of
 * input that we could pass on: its programs read until they are told to stop. */
void channel_stdin_close_drained(struct connection *connection, struct channel *channel);

#endif
