/*
 * The session process: forked from the monitor at the login, it becomes the user for good and
 * starts that user's programs. It has a socket of its own to the network process
 * (SESSION_DESCRIPTOR) and neither the host key nor anything of the monitor's but the log.
 *
 * It is the only process of a connection that the user can stop or kill, to the user's own cost.
 * It ends when the network process closes that socket, and the kernel ends it when the monitor
 * ends, even while it waits for a file system.
 */
#ifndef WREN_SESSION_PROCESS_H
#define WREN_SESSION_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "account.h"
#include "grant.h"
#include "options.h"
#include "peer.h"

/* What the monitor keeps of it. */
struct session_handle {
    pid_t pid;
    int lifeline; /* the session process ends when this is closed */
};

#define SESSION_NOT_ITS_OWN 3

struct session_setup {
    const struct options *options;
    const struct peer *peer;
    const struct account *account; /* copied, as is the grant */
    const struct account_groups *groups;
    const struct grant *grant;            /* of the key that logged in */
    int not_its_own[SESSION_NOT_ITS_OWN]; /* the monitor's descriptors, which it closes */
    void *secret;                         /* memory of secret_new(), which it abandons */
    size_t secret_bytes;
    void *monitors_memory; /* what else it does not need; account and grant may be in it */
    size_t monitors_bytes;
    int64_t deadline_ms; /* clock_now_ms() by which it must have become the user */
};

/*
 * Starts it and waits until it has become the user. Returns 0, or -1 with errno: then nothing of it
 * is left.
 */
int session_process_start(struct session_handle *handle, const struct session_setup *setup);

/* Why it ended, if it said so before: a rule that the network process broke. Writes a text of at
 * most LIMIT_NOTE_BYTES and a NUL; "" if it said nothing. Never waits. */
void session_process_words(const struct session_handle *handle, char *words);

#endif
