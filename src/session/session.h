/*
 * The session process: the monitor forks it at the login. It becomes the user for good and starts
 * the user's programs. It has its own socket to the network process (SESSION_DESCRIPTOR). Of the
 * monitor's descriptors it keeps only the log; it does not have the host key.
 *
 * It is the only process of a connection that the user can stop or kill: this harms only the user's
 * own connection. It exits when the network process closes the socket. When the monitor ends, the
 * kernel kills it, even while it blocks on a file system.
 */
#ifndef WREN_SESSION_H
#define WREN_SESSION_H

#include "base.h"
#include "grant.h"
#include "users.h"

/* The monitor's view of it. */
struct session_handle {
    pid_t pid;
    int lifeline; /* a socket; closing it ends the session process */
};

#define SESSION_CLOSES 4

struct session_setup {
    struct session_options options; /* copied */
    const struct peer *peer;
    const struct account *account; /* copied, like the grant */
    const struct account_groups *groups;
    const struct grant *grant;  /* of the key that logged in */
    int closes[SESSION_CLOSES]; /* descriptors of the monitor's, which the new process closes */
    void *secret;               /* memory of secret_new(), which it abandons */
    size_t secret_bytes;
    void *monitors_memory; /* given back in the new process; may hold the account and the grant */
    size_t monitors_bytes;
    int64_t deadline_ms; /* clock_now_ms() by which it must have become the user */
};

/* Starts the process, which stays in the caller's directory, and waits until it has become the
 * user. Returns 0, or -1 with errno: then the process has been killed and reaped. */
int session_process_start(struct session_handle *handle, const struct session_setup *setup);

/* Writes the reason that the process reported before it exited: the rule that the network process
 * broke. Writes "" if it reported none. Never waits. */
void session_process_reason(const struct session_handle *handle,
                            char reason[static LIMIT_NOTE_BYTES + 1]);

#endif
