/*
 * The monitor's state, which monitor.c, monitor_requests.c, ending.c and drop_privileges.c share.
 */
#ifndef WREN_MONITOR_STATE_H
#define WREN_MONITOR_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ending.h"
#include "hostkey.h"
#include "identity.h"
#include "ipc.h"
#include "login.h"
#include "oom.h"
#include "options.h"
#include "peer.h"
#include "session_process.h"

/* Each row of the request table has the set of phases in which the request is allowed. */
enum monitor_phase {
    MONITOR_START = 1 << 0, /* the network process has not entered its sandbox */
    MONITOR_BEFORE_LOGIN = 1 << 1,
    MONITOR_AFTER_LOGIN = 1 << 2,
    MONITOR_OVER = 1 << 3, /* serves no more requests; waits for the network process's exit */
};

/* Room for any request, and its alignment. */
union monitor_request {
    uint32_t type;
    struct ipc_sign sign;
    struct ipc_end end;                           /* has the strictest alignment */
    uint8_t bytes[IPC_MONITOR_REQUEST_BYTES + 1]; /* request_serve() adds a NUL */
};

/* Used before the login and while a request is served: an idle monitor gives the memory back. */
struct monitor_buffers {
    struct login_scratch login;
    union monitor_request request;
};

struct monitor {
    const struct options *options;
    const struct peer *peer;
    const struct identity *identity;
    struct oom *oom;
    const uint8_t *cookie; /* of our first KEXINIT: no exchange hash of another connection has it */
    int ipc;
    int connection; /* a copy of descriptor 0: only to count its bytes and to shut it down */
    int signals;    /* signals_watch() */
    pid_t network;
    bool network_gone; /* reaped, with network_status as its wait status */
    int network_status;
    struct session_handle session; /* pid is 0 before the login and after its reaping */
    bool as_root;                  /* started as root */
    enum monitor_phase phase;
    bool idle; /* the last poll(2) timed out */
    int64_t started_ms;
    int64_t deadline_ms; /* of the login; then of the longest life, or INT64_MAX */
    unsigned signatures;
    unsigned proofs[2]; /* for the first and the second host key */
    unsigned notes;
    struct ending ending;
    struct hostkey *hostkey; /* memory of secret_new() */
    struct monitor_buffers *buffers;
    struct login login;
};

/* All of the monitor's memory, on pages of its own. The session process gives its copy back. */
struct monitor_memory {
    struct monitor monitor;
    struct monitor_buffers buffers;
};

_Static_assert(offsetof(struct monitor_memory, monitor) == 0,
               "drop_privileges() finds the memory by the monitor's address");

#endif
