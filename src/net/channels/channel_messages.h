/*
 * The messages of the connection protocol (RFC 4254 sections 4 and 5) and those of a session
 * (section 6), which session_channel.c handles; and the log of refused forwardings. Each message
 * has a handler of dispatch.h.
 */
#ifndef WREN_CHANNEL_MESSAGES_H
#define WREN_CHANNEL_MESSAGES_H

#include "connection.h"
#include "reader.h"

enum ssh_phase channel_on_global_request(struct connection *connection, struct reader *message);
enum ssh_phase channel_on_open(struct connection *connection, struct reader *message);
enum ssh_phase channel_on_window_adjust(struct connection *connection, struct reader *message);
enum ssh_phase channel_on_data(struct connection *connection, struct reader *message);
enum ssh_phase channel_on_extended_data(struct connection *connection, struct reader *message);
enum ssh_phase channel_on_request(struct connection *connection, struct reader *message);
enum ssh_phase channel_on_eof(struct connection *connection, struct reader *message);
enum ssh_phase channel_on_close(struct connection *connection, struct reader *message);

/* CHANNEL_SUCCESS and CHANNEL_FAILURE, though we request no replies. The channel may be
 * closed by now. */
enum ssh_phase channel_on_unwanted_reply(struct connection *connection, struct reader *message);

/* Logs a refused request or channel type if it asks for a forwarding of ports, sockets, agents or
 * X11: once for each kind in a connection, as some clients ask again and again. */
void channel_note_forwarding(struct connection *connection, const struct reader *type);

#endif
