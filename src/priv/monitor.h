/*
 * The monitor: the only privileged code of a connection. It answers the requests of
 * common/ipc.h, keeps the login deadline and the count of attempts, reaps, and writes the log.
 *
 * Before login it is what the launcher started it as (root, or an ordinary user). At login it
 * becomes the user for good, so that after it no process of the connection is root; not dumpable,
 * so that the user's other processes can't read the host key from it.
 */
#ifndef WREN_MONITOR_H
#define WREN_MONITOR_H

#include <sys/types.h>

#include "options.h"
#include "peer.h"

/*
 * Loads the host key, then serves `ipc` until the network process `network` ends or must be ended;
 * reaps it. Expects: descriptors 0 and 1 are not the connection any more, SIGCHLD is blocked, all
 * other dispositions but SIGPIPE's and SIGXFSZ's are default. Closes `ipc` before it returns.
 * Returns the exit code: 0 if the client was the cause of the end, 111 if we were, 100 if the key
 * directory is wrong.
 */
int monitor_run(const struct options *options, const struct peer *peer, int ipc, pid_t network);

#endif
