/*
 * How much the client may send on a channel: its window (RFC 4254 section 5.2). A window grows
 * while the program reads as fast as the client sends, and shrinks when the program stops reading.
 */
#ifndef WREN_CHANNEL_WINDOW_H
#define WREN_CHANNEL_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

struct channel;
struct connection;

/* Takes `count` bytes of data off the client's window. False after ending the connection: the
 * client has sent more than it may, or data after EOF. */
bool channel_window_take(struct connection *connection, struct channel *channel, size_t count);

/* Counts `count` bytes of that data as consumed: the program has them, or they are discarded. */
void channel_window_consume(struct channel *channel, size_t count);

/* Returns what was consumed to the client, by WINDOW_ADJUST: if it is worth a message, and not
 * while our key exchange is under way. A window that grows returns more, one that shrinks less. */
void channel_window_return(struct connection *connection, struct channel *channel);

#endif
