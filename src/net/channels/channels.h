/*
 * Channels (RFC 4254): each is one session with its program.
 */
#ifndef WREN_CHANNELS_H
#define WREN_CHANNELS_H

#include <poll.h>

#include "channel_state.h"
#include "transport.h"

/* The channels of the connection (RFC 4254 section 5): the state of each, and which one a message
 * names.
 *
 * channel_messages.c handles the client's messages, channel_requests.c its requests. A program's
 * bytes and its end are moved by channel_stdin.c, channel_stdout.c and channel_exit.c;
 * channel_poll.c says what the loop waits for and gives each channel its turn. */

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

/* ---- a channel, channel.c -------------------------------------------------------------------- */

/* What is known of the client's distance; all zero for a channel that has sent nothing. See
 * channel_streams.h. */
struct pace {
    uint32_t in_flight;    /* bytes sent for which no window has been returned */
    uint32_t adjust_bytes; /* of the last WINDOW_ADJUST: clients collect until it is worth one */
    bool delay_known;
    uint32_t delay_ms;   /* the shortest time that a client has taken to return window */
    uint32_t unmeasured; /* bytes to be returned until the next delay is measured, or 0 */
    uint64_t sent_ms;    /* when the last of these was sent */
    uint64_t moved_ms;   /* when data was last sent or window returned */
};

/* NO_STDOUT: poll() was asked about stdout, and there was none. */
enum channel_ready {
    READY_STDIN = 1,
    READY_STDOUT = 2,
    READY_STDERR = 4,
    READY_EXIT = 8,
    READY_NO_STDOUT = 16
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
    uint32_t measured;    /* the window when measuring began, */
    uint32_t unmeasured;  /* what of it is yet to come, or 0, */
    uint64_t measured_ms; /* and when that was */
    uint32_t bytes_a_ms;  /* how fast windows come */

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

    /* channel_requests.c: what requests have set before the program starts */
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

/* ---- its queue, channel.c -------------------------------------------------------------------- */

/* Appends bytes. The caller makes sure, by the windows of its channels, that all queues of a pool
 * together hold LIMIT_WINDOWS_BYTES at most. */
void queue_add(struct pool *pool, struct queue *queue, const uint8_t *bytes, size_t count);

/* The oldest bytes that are contiguous; *count is their number, and 0 only for an empty queue. */
const uint8_t *queue_front(const struct pool *pool, const struct queue *queue, size_t *count);

/* Removes the `count` oldest bytes; there must be as many. */
void queue_drop(struct pool *pool, struct queue *queue, size_t count);

/* ---- windows, channel_window.c --------------------------------------------------------------- */

/* How much the client may send on a channel: its window (RFC 4254 section 5.2). A window grows
 * while the program reads as fast as the client sends, and shrinks when the program stops reading,
 * or when another session would wait behind what is on its way. */

/* Takes `count` bytes of data off the client's window. False after ending the connection: the
 * client has sent more than it may, or data after EOF. */
bool channel_window_take(struct connection *connection, struct channel *channel, size_t count);

/* Counts `count` bytes of that data as consumed: the program has them, or they are discarded. */
void channel_window_consume(struct channel *channel, size_t count);

/* Returns what was consumed to the client, by WINDOW_ADJUST: if it is worth a message, and not
 * while our key exchange is under way. A window that grows returns more, one that shrinks less. */
void channel_window_return(struct connection *connection, struct channel *channel);

/* ---- the end of the program, channel_exit.c -------------------------------------------------- */

/* The end of a session: exit status or signal, EOF and CLOSE (RFC 4254 sections 5.3 and 6.10), in
 * the order of the output half's states in channel_state.h; and the RFC's names of signals. */

/* The program runs; a struct ipc_exit will come out of `fd` when it has exited. */
void channel_exit_start(struct channel *channel, int fd);

/* Sends what is due: the exit status that poll() found, EOF after the last output, CLOSE after
 * both. */
void channel_exit_send(struct connection *connection, struct channel *channel);

/* The client's CLOSE: ours leaves and the channel is FREE. After our EOF only the exit status is
 * due, and some clients send CLOSE without waiting for it: they get the status, and then CLOSE. */
void channel_exit_close(struct connection *connection, struct channel *channel);

/* When the session of a terminal ends whose program has exited while others keep it open; or
 * UINT64_MAX. */
uint64_t channel_exit_linger_ends_ms(const struct connection *connection,
                                     const struct channel *channel);

/* The number of the signal with this name, without "SIG"; 0 if the RFC does not name it. */
uint32_t channel_exit_signal_number(const struct reader *name);

/* The RFC's name of a signal, or NULL. */
const char *channel_exit_signal_name(uint32_t number);

/* ---- waiting, channel_poll.c ----------------------------------------------------------------- */

/* What the loop waits for on behalf of the channels, and the turn that it gives them. poll() is
 * asked only about what the turn can act on: else it would return at once, over and over. */

/* At most this many poll entries a channel. */
#define CHANNEL_POLL_ENTRIES 4

/* An entry that is skipped unless the loop waits for `fd`. */
static inline struct pollfd channel_poll_entry(bool waits, int fd, short events)
{
    return (struct pollfd){.fd = waits ? fd : -1, .events = events};
}

/* What the loop waits for on behalf of all channels. */
struct channel_plan {
    size_t entries;       /* how many the channels have */
    uint64_t deadline_ms; /* the turn is due then, even without an event; or UINT64_MAX */
    bool awaits_room;     /* output waits for room in the socket rather than for its descriptor */
    bool pauses;          /* the socket is left unread until deadline_ms at most */
    bool coalesces;       /* the turn reads more output after LIMIT_COALESCE_US */
};

/* Adds an entry for each descriptor of each live channel to `entries`. Where there is nothing to
 * wait for, the entry's descriptor is -1. */
struct channel_plan channel_poll_plan(const struct connection *connection, struct pollfd *entries);

/* Notes what poll() found, from the entries that channel_poll_plan() added. */
void channel_poll_note(struct connection *connection, const struct pollfd *entries,
                       bool socket_has_room);

/* Writes what channel_stdin_add() has collected, before the input buffer moves. Then one turn for
 * each channel: queued data to programs; and, if a message may leave, output, exit status, EOF,
 * CLOSE and window to the client. */
void channel_poll_turn(struct connection *connection);

/* ---- messages, channel_messages.c ------------------------------------------------------------ */

/* The messages of the connection protocol (RFC 4254 sections 4 and 5) and those of a session
 * (section 6), which channel_requests.c handles; and the log of refused forwardings. Each message
 * has a handler (transport.h). */

message_handler channel_on_global_request, channel_on_open, channel_on_window_adjust,
    channel_on_data, channel_on_extended_data, channel_on_request, channel_on_eof, channel_on_close;

/* CHANNEL_SUCCESS and CHANNEL_FAILURE, though we request no replies. The channel may be
 * closed by now. */
message_handler channel_on_unwanted_reply;

/* Logs a refused request or channel type if it asks for a forwarding of ports, sockets, agents or
 * X11: once for each kind in a connection, as some clients ask again and again. */
void channel_note_forwarding(struct connection *connection, const struct reader *type);

#endif
