/*
 * The protocol version exchange (RFC 4253 section 4.2): each side first sends one identification
 * line, without its CR LF V_C of the client and V_S of the server.
 *
 *     SSH-protoversion-softwareversion SP comments CR LF
 */
#ifndef WREN_VERSION_H
#define WREN_VERSION_H

#include "connection.h"

/* Sends our line. */
void version_send(struct connection *connection);

/*
 * Reads the client's line from the input and keeps it as V_C. Returns true if all of it was there.
 * Ends the connection as soon as the input cannot become a valid line.
 */
bool version_read(struct connection *connection);

/* True if V_C names OpenSSH. Only its client gets extensions that cannot be negotiated. */
bool version_is_openssh(const struct connection *connection);

#endif
