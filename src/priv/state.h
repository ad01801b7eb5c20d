/*
 * The one monitor of a connection: what monitor.c and requests.c share.
 */
#ifndef WREN_STATE_H
#define WREN_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hostkey.h"
#include "ipc.h"
#include "login.h"
#include "options.h"
#include "peer.h"
#include "spawn.h"

/* Which requests are allowed; a set of them stands in each row of the request table. */
enum monitor_phase {
    PHASE_START = 1 << 0, /* the sandbox is not up yet */
    PHASE_BEFORE_LOGIN = 1 << 1,
    PHASE_AFTER_LOGIN = 1 << 2,
    PHASE_OVER = 1 << 3, /* nothing is read any more; waits for the network process */
};

/* Why the connection is over: the first reason stays. */
struct ending {
    bool decided;
    bool told;  /* one line has said it already: no end line */
    int status; /* exit code */
    bool counted;
    uint64_t bytes_in;
    uint64_t bytes_out;
    char reason[LIMIT_NOTE_BYTES + 1];
};

struct monitor {
    const struct options *options;
    int ipc;
    int signals; /* signalfd: SIGCHLD */
    pid_t network;
    bool network_gone; /* reaped; network_status is what wait(2) said */
    int network_status;
    bool as_root; /* at the start */
    enum monitor_phase phase;
    bool rested; /* nothing has happened since memory was given back */
    int64_t started_ms;
    int64_t deadline_ms; /* of the login, then of the network process's exit */
    unsigned signatures;
    unsigned proofs[2]; /* of the first and the second host key */
    unsigned notes;
    struct sessions sessions;
    struct ending ending;
    struct hostkey hostkey;
    struct login login; /* the last: its end is given back after the login */
};

/* The connection is over: keeps the first reason, gives the network process LIMIT_EXIT_MS to
 * go. */
void monitor_end(struct monitor *monitor, int status, const char *reason);

/* The same at once and for our own sake: exit code 111, the network process is killed. */
void monitor_fail(struct monitor *monitor, const char *reason);

#endif
