/*
 * The transport layer's small messages: DISCONNECT, IGNORE, UNIMPLEMENTED, DEBUG (RFC 4253 section
 * 11), the service request (section 10), EXT_INFO (RFC 8308) and PING (OpenSSH's PROTOCOL, section
 * 1.8).
 */
#ifndef WREN_MESSAGES_H
#define WREN_MESSAGES_H

#include "connection.h"
#include "reader.h"

enum phase messages_on_disconnect(struct connection *connection, struct reader *message);
enum phase messages_on_ignore(struct connection *connection, struct reader *message);
enum phase messages_on_unimplemented(struct connection *connection, struct reader *message);
enum phase messages_on_debug(struct connection *connection, struct reader *message);
enum phase messages_on_service_request(struct connection *connection, struct reader *message);
enum phase messages_on_ext_info(struct connection *connection, struct reader *message);
enum phase messages_on_ping(struct connection *connection, struct reader *message);
/* REQUEST_SUCCESS and REQUEST_FAILURE: none of our global requests wants a reply. */
enum phase messages_on_unwanted_reply(struct connection *connection, struct reader *message);

/* `sequence` is that of the packet we don't know. */
void messages_send_unimplemented(struct connection *connection, uint32_t sequence);

/* What we support, for clients that asked with ext-info-c; right behind our first NEWKEYS. */
void messages_send_ext_info(struct connection *connection);

/* Most handlers' answer to a message that is too short or too long. */
enum phase messages_refuse_malformed(struct connection *connection, const char *name);

#endif
