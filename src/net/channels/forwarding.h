/*
 * Forwarding of ports, sockets, agents and X11, and tunnels: this server has none of it.
 */
#ifndef WREN_FORWARDING_H
#define WREN_FORWARDING_H

#include "connection.h"
#include "reader.h"

/* Logs a refused request or channel type if it asks for a forwarding: once for each kind in a
 * connection, as some clients ask again and again. Other types are not logged. */
void forwarding_note(struct connection *connection, const struct reader *type);

#endif
