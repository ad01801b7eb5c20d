/*
 * The clients of wrensshd-listen, one for each open connection: which of them have logged in, and
 * whether one more may connect. The program reports its logins through a status pipe (status.h). If
 * it does not, the limits for clients before the login do not apply.
 */
#ifndef WREN_CLIENTS_H
#define WREN_CLIENTS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "limit.h"
#include "status.h"

enum client_state {
    CLIENT_NONE = 0,     /* a free entry */
    CLIENT_STARTED,      /* its program has a pipe and has reported nothing yet */
    CLIENT_BEFORE_LOGIN, /* it has reported STATUS_HERE */
    CLIENT_LOGGED_IN,
    CLIENT_UNKNOWN, /* it has no pipe, or has closed it without a report */
};

struct client {
    enum client_state state;
    enum status outcome; /* how the connection ends, if there is no login */
    pid_t child;
    int status_pipe; /* the reading end, or -1 */
    struct in6_addr source;
};

/* Random early drop: with `start` clients before their login, `percent` of the new ones are
 * dropped. The share grows linearly and reaches all of them at `full`. */
struct early_drop {
    unsigned start, percent, full;
};

struct clients {
    unsigned limit, limit_per_source;
    struct early_drop drop;
    bool no_early_drop;  /* -m 0: clients before their login have no limit of their own */
    bool reports_status; /* the last program with a status pipe has reported */
    unsigned count;
    struct client table[LIMIT_LISTEN_CONNECTIONS]; /* the first `limit` are used */
};

/* How many clients before their login a machine with this much memory can serve. */
unsigned clients_limit_for_memory(uint64_t bytes);

/* The share of new clients to drop, 0 to 100, where `count` clients have not logged in. */
unsigned clients_drop_percent(const struct early_drop *drop, unsigned count);

/* Returns NULL if one more client from `source` may connect, or why not. `random_percent` is a
 * number from 0 to 99 that clients can't predict. */
const char *clients_refuse(const struct clients *clients, const struct in6_addr *source,
                           unsigned random_percent);

/* Adds a client; fewer than `limit` must be there. `status_pipe` is the reading end of the child's
 * pipe, which clients_remove() closes, or -1. */
void clients_add(struct clients *clients, const struct in6_addr *source, pid_t child,
                 int status_pipe);

/* Reads what the child has reported. Returns true if the connection has ended without a login,
 * which the daemon reports or the pipe's end shows: the caller removes the client. */
bool clients_read_status(struct clients *clients, struct client *client);

/* The client of a child, or NULL. */
struct client *clients_find(struct clients *clients, pid_t child);

/* Removes a client and closes its pipe. */
void clients_remove(struct clients *clients, struct client *client);

#endif
