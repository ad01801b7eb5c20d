/*
 * The monitor: the privileged code of a connection, and the process that the launcher waits for. It
 * answers the requests of common/ipc.h, keeps the login deadline and every count, reaps, and writes
 * the log.
 *
 * Before login it is what the launcher started it as (root, or an ordinary user). At login it
 * starts the session process, which becomes the user, and gives up root itself: as the network
 * process's user, without a capability and under a seccomp filter it can still end that process,
 * and the user can't stop, slow down or read the monitor.
 */
#ifndef WREN_MONITOR_H
#define WREN_MONITOR_H

#include <sys/types.h>

#include "identity.h"
#include "oom.h"
#include "options.h"
#include "peer.h"

struct monitor_setup {
    const struct options *options;
    const struct peer *peer;
    const struct identity *identity; /* of the unprivileged processes, where we start as root */
    struct oom *oom;                 /* what oom_raise() did before the fork */
    int ipc;                         /* to the network process */
    int connection;                  /* a copy of its descriptor 0 */
    pid_t network;
};

/*
 * Loads the host key, then serves until the network process ends or must be ended; reaps it.
 * Expects: descriptors 0 and 1 are not the connection any more, SESSION_DESCRIPTOR is the session
 * process's end of its socket, all dispositions but SIGPIPE's and SIGXFSZ's are default. Returns
 * the exit code: 0 if the client was the cause of the end, 111 if we were, 100 if the key directory
 * is wrong. The caller exits.
 */
int monitor_run(const struct monitor_setup *setup);

#endif
