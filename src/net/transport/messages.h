/*
 * The small messages of the transport layer:
 *
 *     DISCONNECT, IGNORE, UNIMPLEMENTED, DEBUG    RFC 4253 section 11
 *     SERVICE_REQUEST, SERVICE_ACCEPT             RFC 4253 section 10
 *     EXT_INFO                                    RFC 8308
 *     PING, PONG                                  OpenSSH's PROTOCOL, section 1.8
 */
#ifndef WREN_MESSAGES_H
#define WREN_MESSAGES_H

#include "connection.h"
#include "reader.h"

/* Handlers (dispatch.h). */
enum ssh_phase messages_on_disconnect(struct connection *connection, struct reader *message);
enum ssh_phase messages_on_ignore(struct connection *connection, struct reader *message);
enum ssh_phase messages_on_unimplemented(struct connection *connection, struct reader *message);
enum ssh_phase messages_on_debug(struct connection *connection, struct reader *message);
enum ssh_phase messages_on_service_request(struct connection *connection, struct reader *message);
enum ssh_phase messages_on_ext_info(struct connection *connection, struct reader *message);
enum ssh_phase messages_on_ping(struct connection *connection, struct reader *message);
/* REQUEST_SUCCESS and REQUEST_FAILURE are ignored: no global request of ours wants a reply. */
enum ssh_phase messages_on_unwanted_reply(struct connection *connection, struct reader *message);

/* `sequence` is the sequence number of the packet with the unknown message. */
void messages_send_unimplemented(struct connection *connection, uint32_t sequence);

/* Our extensions, for a client that has sent ext-info-c. Must follow our first NEWKEYS at once. */
void messages_send_ext_info(struct connection *connection);

/* Ends the connection: the message `name` is too short or too long, or a field is invalid. */
enum ssh_phase messages_refuse_malformed(struct connection *connection, const char *name);

/* The same, if anything is left of the message; else the phase stays. */
enum ssh_phase messages_at_end(struct connection *connection, const struct reader *message,
                               const char *name);

#endif
