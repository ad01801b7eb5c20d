/*
 * The identification lines (RFC 4253 section 4.2).
 */
#ifndef WREN_VERSION_H
#define WREN_VERSION_H

#include "connection.h"

/* Adds our line to the output. */
void version_send(struct connection *connection);

/*
 * Looks for the client's line at the start of the input; takes it off, keeps it as V_C and returns
 * true once it is there. Ends the connection on anything that can't become one, as soon as that
 * shows.
 */
bool version_read(struct connection *connection);

/* The client says that it is OpenSSH's: extensions without a negotiation of their own are for it
 * alone. */
bool version_is_openssh(const struct connection *connection);

#endif
