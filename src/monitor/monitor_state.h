/*
 * The one monitor of a connection: what monitor.c, monitor_requests.c and drop_privileges.c share.
 */
#ifndef WREN_MONITOR_STATE_H
#define WREN_MONITOR_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hostkey.h"
#include "identity.h"
#include "ipc.h"
#include "login.h"
#include "oom.h"
#include "options.h"
#include "peer.h"
#include "session_process.h"

/* Which requests are allowed; a set of them stands in each row of the request table. */
enum monitor_phase {
    MONITOR_START = 1 << 0, /* the sandbox is not up yet */
    MONITOR_BEFORE_LOGIN = 1 << 1,
    MONITOR_AFTER_LOGIN = 1 << 2,
    MONITOR_OVER = 1 << 3, /* nothing is read any more; waits for the network process */
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

struct monitor_spare; /* monitor_requests.h */

struct monitor {
    const struct options *options;
    const struct peer *peer;
    const struct identity *identity;
    struct oom *oom;
    int ipc;
    int connection; /* a copy of descriptor 0: only to count and to shut it down */
    int signals;    /* signalfd: SIGCHLD and those that ask us to end */
    pid_t network;
    bool network_gone; /* reaped; network_status is what wait(2) said */
    int network_status;
    struct session_handle session; /* its pid is 0 before the login and once it has been reaped */
    bool as_root;                  /* at the start */
    enum monitor_phase phase;
    bool rested; /* nothing has happened since memory was given back */
    int64_t started_ms;
    int64_t deadline_ms; /* of the login; INT64_MAX after it */
    unsigned signatures;
    unsigned proofs[2]; /* of the first and the second host key */
    unsigned notes;
    struct ending ending;
    struct hostkey *hostkey; /* memory of secret_new() */
    struct monitor_spare *spare;
    struct login login;
};

/* The connection is over: keeps the first reason, gives the network process LIMIT_EXIT_MS to
 * go. */
void monitor_end(struct monitor *monitor, int status, const char *reason);

/* The same at once and for our own sake: exit code 111, the network process is killed. */
void monitor_fail(struct monitor *monitor, const char *reason);

/* ---- drop_privileges.c: the way from root to nobody ------------------------------------------ */

/*
 * For struct login: starts the session process, then gives up every right that the monitor does not
 * need any more: the uid, all capabilities, system calls that are not on its list. Returns NULL, or
 * why the connection must end.
 */
const char *monitor_drop_privileges(void *monitor, const struct authkeys_account *account,
                                    const struct grant *grant);

#endif
