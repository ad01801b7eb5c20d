/*
 * Requests on a session channel (RFC 4254 section 6): terminal, environment, shell, exec,
 * subsystem, signals.
 */
#ifndef WREN_SESSION_CHANNEL_H
#define WREN_SESSION_CHANNEL_H

#include "connection.h"
#include "reader.h"

/* Handler of CHANNEL_REQUEST. */
enum ssh_phase session_channel_on_request(struct connection *connection, struct reader *message);

#endif
