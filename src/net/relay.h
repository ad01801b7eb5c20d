/*
 * Moves bytes between channels and the programs behind them, and tells the client when a program
 * ends.
 */
#ifndef WREN_RELAY_H
#define WREN_RELAY_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "connection.h"

/* Data from the client: straight to the program as far as it takes it, the rest to `pending`. Data
 * for a program that takes none any more counts as consumed. `count` is within the window already
 * spent. */
void relay_to_child(struct channel *channel, const uint8_t *data, size_t count);

/* The client's EOF: the program's stdin is closed once `pending` is empty. */
void relay_end_of_input(struct channel *channel);

/* At most this many poll entries a channel. */
#define RELAY_POLL_ENTRIES 4

/* Adds what is worth waiting for on all channels to `entries`; returns how many were added. */
size_t relay_wait_for(const struct connection *connection, struct pollfd *entries);

/* Notes what poll() found, from entries in the order relay_wait_for() added them. */
void relay_note(struct connection *connection, const struct pollfd *entries);

/* When the first terminal whose program has exited will have lingered long enough, or UINT64_MAX.
 */
uint64_t relay_linger_ends_ms(const struct connection *connection);

/*
 * One turn: pending data on to programs, programs' output into the output buffer as far as windows
 * and room allow, exits, EOFs and closes. During our key exchange only the first.
 */
void relay_turn(struct connection *connection);

#endif
