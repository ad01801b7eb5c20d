/*
 * What the files of wrensshd-listen share: it accepts connections, starts wrensshd for each, and
 * limits how many a client may have.
 */
#ifndef WREN_LISTEN_H
#define WREN_LISTEN_H

#include <netinet/in.h>
#include <poll.h>
#include <sys/types.h>

#include "limit.h"
#include "log.h"

/* ---- sources, clients, lines about refusals, clients.c --------------------------------------- */

/* A source is an IPv4 address, or a /64 network of IPv6, because a subscriber has at least a whole
 * /64. All clients of Unix sockets and the like are one source.
 *
 * Sets *source to an IPv4 client's address, mapped or not, or to an IPv6 client's network. */
void source_read(struct in6_addr *source, const struct sockaddr_in6 *client);

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

/* A token bucket of LIMIT_LISTEN_LINES log lines, which gains one each LIMIT_LISTEN_LINE_MS, and a
 * count of the suppressed lines. Initialize with zeros. Times are of a monotonic clock. */
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

/* ---- the launcher, listen.c and listen_options.c --------------------------------------------- */

#define LISTEN_NAME "wrensshd-listen"

/* Runs a program for each connection to a TCP port, until SIGTERM, SIGINT or SIGHUP. Returns the
 * exit code, as the commands of tools.h do. */
__attribute__((noinline)) int listen_main(char **argv);

struct listener {
    unsigned last_seconds, port;
    bool ends_all;            /* -k */
    bool ends_by_hangup;      /* SIGHUP was not ignored at the start */
    bool is_small;            /* -c leaves no room for sessions */
    struct in6_addr address;  /* to listen on; zero for all */
    const char *address_text; /* NULL for all */
    const char *interface;
    bool from_systemd; /* the sockets, instead of a port */
    char **program;
    struct clients clients;
    int64_t reap_ms; /* when to look at all children; 0: none has ended since the last look */
    struct rate_limit refusal_lines;
    int error; /* why there is no socket of our own; 0 if there is one */
    int own;   /* it keeps the port from other users, also while its interface is away; -1: none */
    unsigned sockets;
    struct pollfd watched[1 + LIMIT_LISTEN_SOCKETS]; /* signals, and the sockets */
};

/* Sets defaults for a machine with `memory_bytes`, then reads the command line. Returns 0 to go on,
 * or -1 to exit with *status. */
int listen_options(struct listener *listener, char **argv, uint64_t memory_bytes, int *status);

/* ---- sockets, sockets.c ---------------------------------------------------------------------- */

/* Adds to `watched` a socket that listens on the port, or all that systemd has passed, and removes
 * systemd's variables. Without the interface or the address its descriptor is -1 for now. Returns
 * false, with the exit code in *status, after another error. Logs each. */
bool sockets_open(struct listener *listener, int *status);

/* Listens anew if the interface has come, or was deleted and made anew. Returns true if it did;
 * logs a reason why it can't once. */
bool sockets_renew(struct listener *listener);

/* ---- children, children.c -------------------------------------------------------------------- */

/* Starts the program for a client's connection, with the client's IP address and port in the
 * variables TCPREMOTEIP and TCPREMOTEPORT. Returns its pid, or -1 with errno. */
pid_t children_start(char **program, int connection, const struct sockaddr_in6 *client);

/* From now on, a descendant whose parent ends becomes our child, even if it has daemonized. Returns
 * NULL, or what the system lacks, as a text for the log. */
const char *children_adopt(void);

/* Kills all descendants and reaps them. Returns true when none is left, false if /proc is no longer
 * mounted. */
bool children_end(void);

#endif
