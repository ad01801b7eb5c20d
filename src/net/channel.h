/*
 * Channels of the connection protocol (RFC 4254 section 5): opening, windows, data, closing. What
 * runs behind a channel is session.c's; its bytes are moved by relay.c.
 */
#ifndef WREN_CHANNEL_H
#define WREN_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limit.h"

struct connection;
struct reader;
enum phase;

/*
 * The channel's number on our side is its index in connection.channels, and the monitor's slot.
 *
 * Receiving: window + (pending_end - pending_start) + consumed == LIMIT_WINDOW_BYTES at all times,
 * so whatever the client may send has its place in `pending`.
 */
struct channel {
    bool open;
    bool started; /* shell, exec or subsystem was accepted: there is no second one */
    bool has_pty;

    uint64_t exited_ms; /* when the program's exit was told; then `exit_sent` */

    uint32_t remote;        /* the channel's number on the client's side */
    uint32_t remote_window; /* what we may still send */
    uint32_t remote_packet; /* the most we may put into one packet */
    uint32_t window;        /* what the client may still send */
    uint32_t consumed;      /* taken off `pending` since the last WINDOW_ADJUST */

    bool eof_received, eof_sent, eow_sent, exit_sent, close_sent, close_received;

    /* Non-blocking; -1 when closed. With a terminal the first two are its master. */
    int child_stdin, child_stdout, child_stderr, child_exit;
    /* What poll() said about them in this turn. */
    bool stdin_ready, stdin_broken, stdout_ready, stderr_ready, exit_ready;

    size_t environment_bytes;
    char environment[LIMIT_ENVIRONMENT_BYTES]; /* "NAME=VALUE\0"... until the program starts */
    char term[LIMIT_TERM_BYTES];

    size_t pending_start, pending_end; /* client's data that the program has not taken yet */
    uint8_t pending[LIMIT_WINDOW_BYTES];
};

void channel_init(struct channel *channel);

/* The open channel that the next uint32 of the message names, or NULL after ending the connection.
 */
struct channel *channel_named(struct connection *connection, struct reader *message);

/* Closes the program's stdin, or drops the terminal's write side; what was pending counts as
 * consumed. */
void channel_close_stdin(struct channel *channel);

/* The program is done with: its descriptors are closed and our CLOSE leaves, if it is not out yet.
 * Once the client's is here as well, the channel is free again. */
void channel_close(struct connection *connection, struct channel *channel);

/* Gives the client back the window that the program has consumed, if it is worth a message and one
 * may leave. */
void channel_return_window(struct connection *connection, struct channel *channel);

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

#endif
