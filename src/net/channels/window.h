/*
 * What clients may send: their windows (RFC 4254 section 5.2), which follow what programs read.
 */
#ifndef WREN_WINDOW_H
#define WREN_WINDOW_H

struct channel;
struct connection;

/* Gives the client back what the program has consumed, if it is worth a message and one may leave:
 * and more than that to a client that could have used it, less if the program has stopped reading.
 */
void window_return(struct connection *connection, struct channel *channel);

#endif
