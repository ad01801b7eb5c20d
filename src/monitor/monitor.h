/*
 * The monitor: the privileged process of a connection, for which the launcher waits. It answers the
 * requests of ipc/ipc.h, enforces the login deadline and all limits, reaps, and writes the log.
 *
 * Before the login it keeps the identity that the launcher gave it: root, or an ordinary user. At
 * the login it starts the session process, which becomes the user. Then it gives up root: it takes
 * on the network process's uid, drops all capabilities and enters a seccomp filter. With that uid
 * it can still kill the network process, and the user can't stop, slow down or read the monitor.
 */
#ifndef WREN_MONITOR_H
#define WREN_MONITOR_H

#include "admission.h"
#include "base.h"
#include "options.h"
#include "process.h"
#include "users.h"

struct monitor_setup {
    const struct options *options;
    const struct peer *peer;
    const struct identity *identity; /* of the unprivileged processes, where we start as root */
    struct oom *oom;                 /* of oom_raise(), called before the fork */
    struct admission *admission;     /* of admission_enter(), called before the fork */
    /* SSH_COOKIE_BYTES of our first KEXINIT, drawn before the fork: no exchange hash of another
     * connection has them. */
    const uint8_t *cookie;
    int ipc; /* to the network process */
    /* A copy of its descriptor 0: only to see its end, to count its bytes and to shut it down. */
    int connection;
    pid_t network;
};

/*
 * Loads the host key, serves until the connection ends, and reaps the network process. Expects:
 * descriptors 0 and 1 are no longer the connection, SESSION_DESCRIPTOR is the session process's end
 * of its socket, and all signal dispositions but SIGPIPE's and SIGXFSZ's are the default.
 * Returns the exit code: 0 if the client caused the end, 111 if the server did, 100 if the key
 * directory can't be used. The caller exits.
 */
int monitor_run(const struct monitor_setup *setup);

/* hostkey_load(), or hostkey_load_descriptor() if a descriptor is given. Before, it starts the
 * alarm that ends a process which hangs: here or, after the time for the login, anywhere. */
struct hostkey;
int monitor_load_hostkey(struct hostkey *key, const struct options *options, int *status);

/* Logs the layers of the network process's sandbox, and whether the connection has no table
 * (admission.h). False, with the reason, if a required layer is missing. */
bool monitor_judge_layers(char reason[static LIMIT_NOTE_BYTES + 1], const struct options *options,
                          bool as_root, uint32_t layers, bool has_table);

#endif
