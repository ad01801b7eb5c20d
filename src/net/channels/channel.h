/*
 * Channels of the connection protocol (RFC 4254 section 5): opening, windows, data, closing. What
 * runs behind a channel is session.c's; its bytes are moved by relay.c.
 */
#ifndef WREN_CHANNEL_H
#define WREN_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel_state.h"
#include "limit.h"
#include "pace.h"
#include "queue.h"

struct connection;
struct reader;
enum phase;

enum channel_ready { READY_STDIN = 1, READY_STDOUT = 2, READY_STDERR = 4, READY_EXIT = 8 };

/*
 * The channel's number on our side is its index in connection.channels, and stands in the requests of ipc.h.
 *
 * Receiving: window + pending.bytes + consumed == limit at all times, and the limits of all
 * channels are LIMIT_WINDOWS_BYTES at most; so whatever clients may send has its place in the pool,
 * and nothing need ever be left unread because of one program: the messages of the other channels
 * may stand behind it, even the window that this program waits for to get rid of its output.
 */
struct channel {
    enum channel_input input;
    enum channel_output output;
    bool has_pty;

    uint64_t exited_ms;   /* when the exit status was sent */
    uint64_t adjusted_ms; /* when the client last got window */
    uint64_t fed;         /* bytes that went to the program */

    uint32_t remote;        /* the channel's number on the client's side */
    uint32_t remote_window; /* what we may still send */
    uint32_t remote_packet; /* the most we may put into one packet */
    uint32_t limit;         /* of what the client may have under way */
    uint32_t window;        /* what the client may still send */
    uint32_t consumed;      /* taken by the program since the last WINDOW_ADJUST */

    /* Non-blocking; -1 when closed. With a terminal the first two are its master. */
    int child_stdin, child_stdout, child_stderr, child_exit;
    unsigned ready; /* what poll() found for them in this turn: enum channel_ready */
    bool stdin_widened, stdout_widened; /* larger pipes were asked for */
    bool bulk;     /* the program had much to say in its last turn: others are served first */
    bool breathes; /* channel_output_breathes() for this one */

    struct pace pace;     /* of what the program's output has under way */
    struct queue pending; /* client's data that the program has not taken yet */

    size_t environment_bytes;
    char term[LIMIT_TERM_BYTES];
    char environment[LIMIT_ENVIRONMENT_BYTES]; /* "NAME=VALUE\0"... until the program starts */
};

/* Makes the channel FREE; nothing of it may be pending. */
void channel_init(struct channel *channel);

/* True from CHANNEL_OPEN until both sides have sent CLOSE. */
bool channel_is_open(const struct channel *channel);

/* The open channel that the next uint32 of the message names, or NULL after ending the connection.
 * What was on its way to a program has been handed over. */
struct channel *channel_named(struct connection *connection, struct reader *message);

/* Closes the program's stdin, or drops the terminal's write side, and changes the state by `event`;
 * what was pending counts as consumed. */
void channel_close_stdin(struct connection *connection, struct channel *channel,
                         enum channel_input_event event);

/* For a transfer that turns out to be bulk: asks for a pipe of LIMIT_PIPE_BYTES, once. True if it
 * was given: the kernel refuses when the user has many of them (pipe(7)), and one that the program
 * has made as large itself stays as it is. */
bool channel_widen_pipe(int fd, bool *widened);

/* Changes the output half's state. On the way to CLOSED or FREE the program's descriptors are
 * closed and our CLOSE leaves, if it is not out yet; a FREE channel's number can be used again. */
void channel_output_event(struct connection *connection, struct channel *channel,
                          enum channel_output_event event);

/* True while a program runs, or the end of its output or its exit status is still due. */
bool channel_is_live(const struct channel *channel);

/* True if more than one is live: what one moves may keep the others waiting. */
bool channel_shares(const struct connection *connection);

/* Starts a CHANNEL_REQUEST of ours that wants no reply. */
struct writer channel_request_begin(struct connection *connection, const struct channel *channel,
                                    const char *type);

/* Handlers, see dispatch.h. */
enum phase channel_on_global_request(struct connection *connection, struct reader *message);
enum phase channel_on_open(struct connection *connection, struct reader *message);
enum phase channel_on_window_adjust(struct connection *connection, struct reader *message);
enum phase channel_on_data(struct connection *connection, struct reader *message);
enum phase channel_on_extended_data(struct connection *connection, struct reader *message);
enum phase channel_on_eof(struct connection *connection, struct reader *message);
enum phase channel_on_close(struct connection *connection, struct reader *message);
/* CHANNEL_SUCCESS and CHANNEL_FAILURE: none of our requests wants a reply. Its channel may be
 * closed by now. */
enum phase channel_on_unwanted_reply(struct connection *connection, struct reader *message);

#endif
