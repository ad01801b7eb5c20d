/*
 * The monitor's state, and the parts of the monitor that share it: its requests, the login's end of
 * root, and how a connection ends.
 */
#ifndef WREN_MONITOR_STATE_H
#define WREN_MONITOR_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "admission.h"
#include "hostkey.h"
#include "identity.h"
#include "ipc.h"
#include "login.h"
#include "memory.h"
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

/* How the connection ends. */
struct ending {
    bool decided;
    bool logged;  /* the reason is in the log already: no `event=end` line */
    bool counted; /* bytes_in and bytes_out are known */
    int status;   /* exit code */
    uint64_t bytes_in;
    uint64_t bytes_out;
    char reason[LIMIT_NOTE_BYTES + 1];
};

struct monitor {
    const struct options *options;
    const struct peer *peer;
    const struct identity *identity;
    struct oom *oom;
    struct admission *admission;
    const uint8_t *cookie; /* of our first KEXINIT: no exchange hash of another connection has it */
    int ipc;
    /* A copy of descriptor 0: only to see its end, to count its bytes and to shut it down. */
    int connection;
    bool connection_gone; /* the client has closed its end: the deadline is within LIMIT_GONE_MS */
    int signals;          /* signals_watch() */
    pid_t network;
    bool network_gone; /* reaped, with network_status as its wait status */
    int network_status;
    struct session_handle session; /* pid is 0 before the login and after its reaping */
    bool as_root;                  /* started as root */
    enum monitor_phase phase;
    bool idle;           /* the last poll(2) timed out */
    bool just_logged_in; /* no turn since the login */
    int64_t started_ms;
    int64_t silence_ms;  /* when a client without a key exchange is judged, or INT64_MAX */
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

/* ---- monitor_requests.c ---------------------------------------------------------------------- */

/*
 * Receives one request into `request` and answers it. A request that breaks a rule ends the
 * connection, with the reason in the log; so does a reply that the network process does not read.
 * An end of file ends the connection without a reason: the network process's exit gives it.
 * Never waits; returns false if there was no request.
 */
bool monitor_requests_serve(struct monitor *monitor, union monitor_request *request);

/* ---- drop_privileges.c ----------------------------------------------------------------------- */

/*
 * For struct login's `enter`; `monitor` is a struct monitor within a struct monitor_memory. Starts
 * the session process, then gives up every right that the monitor no longer needs: its uid, all
 * capabilities, and the system calls that are not on its list. Returns NULL, or why the connection
 * must end.
 */
const char *drop_privileges(void *monitor, const struct authkeys_account *account,
                            const struct grant *grant);

/* ---- ending.c: the first reason, who must still exit, and the log's line --------------------- */

/* Sets the exit code and the reason, unless an earlier call has. */
void ending_decide(struct ending *ending, int status, const char *reason);

/* Ends the connection: decides, and serves no more requests. The network process has LIMIT_EXIT_MS
 * to exit. */
void ending_begin(struct monitor *monitor, int status, const char *reason);

/* Ends the connection with exit code 111 and kills the network process at once. */
void ending_fail(struct monitor *monitor, const char *reason);

/* Kills the network process unless it has been reaped. */
void ending_kill_network(const struct monitor *monitor);

/* Decides by the reaped network process's wait status, for one that has sent no END. */
void ending_decide_by_exit(struct monitor *monitor);

/* Counts the connection's bytes. The kernel's count takes precedence over the one in END. */
void ending_count_bytes(struct monitor *monitor);

/* Writes the `event=end` line. */
void ending_log(const struct monitor *monitor);

/* ---- the bytes of a connection --------------------------------------------------------------- */

/*
 * The bytes of a TCP connection as the kernel counts them: a process that only reads and writes the
 * connection cannot falsify the count.
 */

/* Sets *received to the bytes that have arrived, read or not, and *sent to those sent, without
 * retransmissions. The end of a direction may count as one byte. Returns false if `fd` is not a TCP
 * socket, and on kernels before Linux 4.1. */
bool tcp_bytes(uint64_t *received, uint64_t *sent, int fd);

#endif
