/*
 * The deadlines of a connection: of the login, idle time (-i), the longest life (-M); and when a
 * silent client gets a keepalive (-k). A later key exchange has no deadline of its own: a client
 * that is asleep, or on a slow link, can't answer. The deadlines here go on counting during it.
 */
#ifndef WREN_DEADLINES_H
#define WREN_DEADLINES_H

#include <stdint.h>

#include "connection.h"

/* Ends the connection if a deadline has passed. Sends what is due before it: a keepalive, or the
 * warning on terminals that the connection's life is nearly over. */
void deadlines_check(struct connection *connection);

/* When deadlines_check() next has something to do, by the clock of now_ms. */
uint64_t deadlines_next_ms(const struct connection *connection);

#endif
