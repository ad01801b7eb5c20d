/*
 * The channels of the connection (RFC 4254 section 5): the state of each, and which one a message
 * names.
 *
 * channel_messages.c handles the client's messages, session_channel.c its requests. A program's
 * bytes and its end are moved by channel_stdin.c, channel_stdout.c and channel_exit.c;
 * channel_poll.c says what the loop waits for and gives each channel its turn.
 */
#ifndef WREN_CHANNEL_H
#define WREN_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel_state.h"
#include "limit.h"
#include "ssh_numbers.h"

struct connection;
struct reader;

/* ---- data that programs have not read yet ---------------------------------------------------- */

#define QUEUE_CHUNK_BYTES 32768

/* All that a client may have sent, in whole chunks; the first and the last chunk of each queue may
 * be partly empty. */
#define QUEUE_CHUNKS (LIMIT_WINDOWS_BYTES / QUEUE_CHUNK_BYTES + 2 * LIMIT_CHANNELS)

/* A queue of bytes for each channel, made of chunks of one pool. Chunks that were never used are
 * never touched, so they take no memory. All zero is empty. */
struct queue {
    size_t bytes;
    uint16_t first, last; /* chunks, numbered from 1; 0 for none */
    uint16_t start, end;  /* where data starts in the first chunk, and ends in the last */
};

/* All zero is an empty pool. */
struct pool {
    uint16_t in_use;             /* chunks that belong to queues */
    uint16_t touched;            /* chunks 1 to `touched` have been written to */
    uint16_t free;               /* the first of these that belongs to no queue; 0 for none */
    uint16_t next[QUEUE_CHUNKS]; /* the chunk after each one, in its queue or in the free list */
    uint8_t chunks[QUEUE_CHUNKS][QUEUE_CHUNK_BYTES];
};

/* ---- a channel ------------------------------------------------------------------------------- */

/* What is known of the client's distance; all zero for a channel that has sent nothing. See
 * channel_stdout.h. */
struct pace {
    uint32_t in_flight;    /* bytes sent for which no window has been returned */
    uint32_t adjust_bytes; /* of the last WINDOW_ADJUST: clients collect until it is worth one */
    bool delay_known;
    uint32_t delay_ms;   /* the shortest time that a client has taken to return window */
    uint32_t unmeasured; /* bytes to be returned until the next delay is measured, or 0 */
    uint64_t sent_ms;    /* when the last of these was sent */
    uint64_t moved_ms;   /* when data was last sent or window returned */
};

/* DRAINED: poll() was asked about stdout, and there was none. */
enum channel_ready {
    READY_STDIN = 1,
    READY_STDOUT = 2,
    READY_STDERR = 4,
    READY_EXIT = 8,
    READY_DRAINED = 16
};

/*
 * The channel number on our side is the index in connection.channels; the session process uses the
 * same number.
 *
 * Each group of members has one file that writes it once the channel is open. Descriptors do not
 * block, and are -1 when closed. With a terminal `child_stdin` and `child_stdout` are its master,
 * which the output half closes.
 *
 * Receiving: window + channel_waiting_bytes() + consumed == limit at all times, and the limits of
 * all channels together are LIMIT_WINDOWS_BYTES at most. So the pool has room for all that clients
 * may send, and the input never stops because one program does not read: after its data there may
 * be messages of other channels, or the window that this program itself waits for.
 */
struct channel {
    uint32_t remote;        /* the channel number on the client's side */
    uint32_t remote_packet; /* the most data that we may put into one packet */

    /* channel_window.c */
    uint32_t limit;       /* the most that the client may send before we return window */
    uint32_t window;      /* what the client may still send */
    uint32_t consumed;    /* taken by the program since the last WINDOW_ADJUST */
    uint64_t adjusted_ms; /* when the last WINDOW_ADJUST left */

    /* channel_stdin.c */
    enum channel_input input;
    int child_stdin;
    bool stdin_widened;   /* a larger pipe was asked for */
    uint64_t stdin_bytes; /* what the program has taken in all */
    uint64_t typed_ms;    /* when as little as a keystroke last came; 0 for never */
    struct queue pending; /* data that the program has not taken yet, out of the input buffer */

    /* channel_stdout.c */
    int child_stdout, child_stderr;
    uint32_t remote_window; /* what we may still send */
    bool stdout_widened;    /* a larger pipe was asked for */
    enum channel_flow flow;
    struct pace pace;

    /* channel_exit.c */
    enum channel_output output;
    int child_exit;
    uint64_t exited_ms; /* when the exit status was sent */

    /* channel_poll.c */
    unsigned ready; /* what poll() found in this turn: enum channel_ready */

    /* session_channel.c: what requests have set before the program starts */
    bool has_pty;
    size_t environment_bytes;
    char term[LIMIT_TERM_BYTES];
    char environment[LIMIT_ENVIRONMENT_BYTES]; /* "NAME=VALUE\0"... */
};

/* Makes the channel FREE, without descriptors. Nothing of it may be pending. */
void channel_init(struct channel *channel);

/* The FREE channel with the lowest number, or NULL. */
struct channel *channel_find_free(struct connection *connection);

/* Opens a FREE channel with what CHANNEL_OPEN says: the number on the client's side, how much we
 * may send, and how much of it in one packet. */
void channel_open(struct connection *connection, struct channel *channel, uint32_t remote,
                  uint32_t remote_window, uint32_t remote_packet);

/* True from CHANNEL_OPEN until both sides have sent CLOSE. */
bool channel_is_open(const struct channel *channel);

/* True while a program runs, or the end of its output or its exit status is still due. */
bool channel_is_live(const struct channel *channel);

/* True if more than one channel is live: the data of one may delay the others. */
bool channel_several_live(const struct connection *connection);

uint32_t channel_number(const struct connection *connection, const struct channel *channel);

/* The channel that the next uint32 of the message names: any that we could open; or one that is
 * open. NULL after ending the connection. */
struct channel *channel_read_any(struct connection *connection, struct reader *message);
struct channel *channel_read_open(struct connection *connection, struct reader *message);

/* A message whose only field is the channel: CHANNEL_EOF, for example. */
void channel_send(struct connection *connection, const struct channel *channel,
                  enum ssh_message number);

/* Data that the program has not taken yet: in the queue, or still in the input buffer. */
size_t channel_waiting_bytes(const struct connection *connection, const struct channel *channel);

/* Starts a CHANNEL_REQUEST that wants no reply. */
struct writer channel_request_begin(struct connection *connection, const struct channel *channel,
                                    const char *type);

/* For a bulk transfer: asks once for a pipe of LIMIT_PIPE_BYTES. True if it was granted: the kernel
 * refuses when the user has many of them (pipe(7)), and a pipe that the program itself has made as
 * large stays as it is. */
bool channel_widen_pipe(int fd, bool *widened);

/* Closes *fd if it is open, and sets it to -1. */
void channel_close_descriptor(int *fd);

/* ---- its queue ------------------------------------------------------------------------------- */

/* Appends bytes. The caller makes sure, by the windows of its channels, that all queues of a pool
 * together hold LIMIT_WINDOWS_BYTES at most. */
void queue_add(struct pool *pool, struct queue *queue, const uint8_t *bytes, size_t count);

/* The oldest bytes that are contiguous; *count is their number, and 0 only for an empty queue. */
const uint8_t *queue_front(const struct pool *pool, const struct queue *queue, size_t *count);

/* Removes the `count` oldest bytes; there must be as many. */
void queue_drop(struct pool *pool, struct queue *queue, size_t count);

#endif
