/*
 * wrensshd-listen: its start, and its state: settings, sockets and clients.
 */
#ifndef WREN_LISTEN_H
#define WREN_LISTEN_H

#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "clients.h"

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
    struct rate_limit refusal_lines;
    unsigned sockets;
    struct pollfd watched[1 + LIMIT_LISTEN_SOCKETS]; /* signals, and the sockets */
};

/* Sets defaults for a machine with `memory_bytes`, then reads the command line. Returns 0 to go on,
 * or -1 to exit with *status. */
int listen_options(struct listener *listener, char **argv, uint64_t memory_bytes, int *status);

/* ---- sockets.c ------------------------------------------------------------------------------- */

/* Adds to `watched` a socket that listens on the port, or all that systemd has passed, and removes
 * systemd's variables. Returns false, with the exit code in *status, after an error, which it logs.
 */
bool sockets_open(struct listener *listener, int *status);

/* ---- children.c ------------------------------------------------------------------------------ */

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
