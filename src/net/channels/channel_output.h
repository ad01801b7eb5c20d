/*
 * From programs to the client: their output, and how they end. It also says what the loop has to
 * wait for. What goes the other way is feed.c's.
 */
#ifndef WREN_CHANNEL_OUTPUT_H
#define WREN_CHANNEL_OUTPUT_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "connection.h"

/* At most this many poll entries a channel. */
#define CHANNEL_POLL_ENTRIES 4

/* Adds what is worth waiting for on all channels to `entries`; returns how many were added. */
size_t channel_output_wait_for(const struct connection *connection, struct pollfd *entries);

/* Notes what poll() found, from entries in the order channel_output_wait_for() added them. */
void channel_output_note(struct connection *connection, const struct pollfd *entries);

/* When channel_output_turn() has something to do though nothing happens, or UINT64_MAX. */
uint64_t channel_output_next_ms(const struct connection *connection);

/*
 * True if a program is in the middle of a bulk transfer and we have taken all of its output. Waking
 * up for each of its writes would cost both of us more than the bytes do: after a breath there is
 * much to read. channel_output_wait_for() leaves that program out, and channel_output_turn() looks
 * all the same.
 */
bool channel_output_breathes(const struct connection *connection);

/*
 * One turn: pending data on to programs, programs' output into the output buffer as far as windows
 * and room allow, exits, EOFs and closes. During our key exchange only the first.
 */
void channel_output_turn(struct connection *connection);

#endif
