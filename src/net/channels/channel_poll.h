/*
 * What the loop waits for on behalf of the channels, and the turn that it gives them. poll() is
 * asked only about what the turn can act on: else it would return at once, over and over.
 */
#ifndef WREN_CHANNEL_POLL_H
#define WREN_CHANNEL_POLL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection;

/* At most this many poll entries a channel. */
#define CHANNEL_POLL_ENTRIES 4

/* Adds an entry for each descriptor of each live channel to `entries`; returns how many. Where
 * there is nothing to wait for, the entry's descriptor is -1. */
size_t channel_poll_add(const struct connection *connection, struct pollfd *entries);

/* True if a program's output waits for room in the socket rather than for its descriptor. */
bool channel_poll_awaits_socket(const struct connection *connection);

/* Notes what poll() found, from the entries that channel_poll_add() added. */
void channel_poll_note(struct connection *connection, const struct pollfd *entries,
                       bool socket_has_room);

/* When channel_poll_turn() has something to do though poll() finds nothing, or UINT64_MAX. */
uint64_t channel_poll_next_ms(const struct connection *connection);

/* One turn for each channel: queued data to programs; then, if a message may leave, output, exit
 * status, EOF, CLOSE and window to the client. */
void channel_poll_turn(struct connection *connection);

#endif
