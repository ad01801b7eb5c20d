/*
 * The clients of wrensshd-listen, one for each open connection, and whether one more may connect.
 */
#ifndef WREN_CLIENTS_H
#define WREN_CLIENTS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "limit.h"
#include "log.h"

/* ---- sources --------------------------------------------------------------------------------- */

/* A source is an IPv4 address, or a /64 network of IPv6, because a subscriber has at least a whole
 * /64. All clients of Unix sockets and the like are one source. */

/* Sets *source to an IPv4 client's address, mapped or not, or to an IPv6 client's network. Only
 * clients.c can compare it. */
void source_read(struct in6_addr *source, const struct sockaddr_in6 *client);

/* ---- clients --------------------------------------------------------------------------------- */

struct client {
    pid_t child; /* 0: a free entry */
    struct in6_addr source;
};

struct clients {
    unsigned limit, limit_per_source;
    unsigned count;
    struct client table[LIMIT_LISTEN_CONNECTIONS]; /* the first `limit` are used */
};

/* Returns NULL if one more client from `source` may connect, or why not. */
const char *clients_refuse(const struct clients *clients, const struct in6_addr *source);

/* Adds a client; fewer than `limit` must be there. */
void clients_add(struct clients *clients, const struct in6_addr *source, pid_t child);

/* Removes the client of a child, if there is one. */
void clients_remove(struct clients *clients, pid_t child);

/* ---- lines about refusals -------------------------------------------------------------------- */

/*
 * How many log lines strangers may cause. All times are in milliseconds, from a monotonic clock.
 */

/* A token bucket of LIMIT_LISTEN_LINES log lines, which gains one each LIMIT_LISTEN_LINE_MS, and a
 * count of the suppressed lines. Initialize with zeros. */
struct rate_limit {
    struct log_rate rate;
    int64_t summary_ms; /* when the count is due, if any lines are suppressed */
    uint64_t suppressed;
};

/* Returns true if a line may be written now; otherwise counts it as suppressed. */
bool rate_limit_allow(struct rate_limit *limit, int64_t now_ms);

/* Returns the count of suppressed lines, and resets it, if the count is due or `at_once`; otherwise
 * 0. */
uint64_t rate_limit_summary(struct rate_limit *limit, int64_t now_ms, bool at_once);

#endif
