/*
 * One connection in the client role: its parts, and the turn that moves it on.
 *
 * Messages are handled as they come and only change the state; what there is to send leaves from
 * the functions that a mode calls, and from the beginning of a turn. So a mode reads as it happens:
 * it asks for something and takes turns until the state says that it is there.
 */
#ifndef LEAN_CLIENT_H
#define LEAN_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "exchange.h"
#include "link.h"
#include "login.h"
#include "options.h"
#include "session.h"
#include "timeline.h"

#define CLIENT_VERSION "SSH-2.0-wren-lean_" WREN_VERSION /* V_C */

struct client {
    const struct options *options;
    const char *place; /* what is being done, for messages */
    pid_t child;       /* the server, if we started it */
    struct link link;
    struct timeline timeline;
    struct exchange exchange;
    struct login login;
    bool identified;
    char server_version[LIMIT_VERSION_LINE_BYTES + 1]; /* V_S */
    bool login_first;       /* nothing may be sent behind a login until it is granted */
    uint32_t owed_refusals; /* of global requests that want a reply */
    uint64_t rekeyed_bytes; /* bytes on the wire at the last exchange that we started */
    size_t session_count;
    struct session sessions[SESSION_MAX];
};

/* Connects and greets: returns with the identification line and KEXINIT on their way. */
struct client *client_begin(const struct options *options);

/* Sends what is due, moves bytes, and handles what has come. With `wait` it blocks while there is
 * nothing to do. */
void client_turn(struct client *client, bool wait);

/* Takes turns until it is set. */
void client_await(struct client *client, const bool *flag);

/* Adds a message, by a format of ssh_client.h, once no key exchange is in its way. */
void client_say(struct client *client, const char *format, ...);

/* Says goodbye and waits until the server has closed the connection. */
void client_end(struct client *client);

/* Closes the connection if it is still open, waits for a server that we have started, and frees the
 * client. */
void client_drop(struct client *client);

#endif
