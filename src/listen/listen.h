/*
 * The listener: what its command line has set, and what it works with.
 */
#ifndef WREN_LISTEN_H
#define WREN_LISTEN_H

#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "listen_lines.h"
#include "listen_penalty.h"
#include "listen_places.h"

#define LISTEN_NAME "wrensshd-listen"

struct listener {
    unsigned last_seconds, port;
    bool ends_all; /* -k */
    bool hears_hangup;
    struct in6_addr address; /* to listen on; all of them if it is zero */
    const char *interface;
    char **program;
    int socket, signals;
    struct places places;
    struct penalties penalties;
    struct lines refused, penalized;
    struct pollfd watched[2 + LIMIT_LISTEN_CONNECTIONS];
    struct place *watched_places[2 + LIMIT_LISTEN_CONNECTIONS]; /* from 2 on */
};

/* Reads the command line, after what the machine's `memory_bytes` say. Returns 0 to go on, or -1:
 * *status is the exit code. */
int listen_options(struct listener *listener, char **argv, uint64_t memory_bytes, int *status);

/* Starts the program for a connection; returns as fork(2). *status becomes the reading end of its
 * status pipe (status.h), close-on-exec and non-blocking, or -1 if there is none. */
pid_t listen_start(char **program, int connection, int *status);

#endif
