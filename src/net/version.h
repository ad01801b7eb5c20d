/*
 * The identification lines (RFC 4253 section 4.2).
 */
#ifndef WREN_VERSION_H
#define WREN_VERSION_H

#include "connection.h"

/* V_S: what we send, without its CR LF. */
#define VERSION_SERVER "SSH-2.0-wrenssh_" WREN_VERSION

/* Adds our line to the output. */
void version_send(struct connection *connection);

/*
 * Looks for the client's line at the start of the input; takes it off, keeps it as V_C and returns
 * true once it is there. Ends the connection on anything that can't become one, as soon as that
 * shows.
 */
bool version_read(struct connection *connection);

#endif
