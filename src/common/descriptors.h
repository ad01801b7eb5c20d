/*
 * Descriptors and signals: what the daemon does about its launcher's when it starts, and its
 * children about its own.
 */
#ifndef WREN_DESCRIPTORS_H
#define WREN_DESCRIPTORS_H

#include <signal.h>
#include <stdbool.h>

#include "entropy.h"

/* Where a host key's descriptor (keydir "fd:N") waits for the monitor, and where the launcher's
 * status pipe stays (status.h). */
#define KEY_DESCRIPTOR    (ENTROPY_DESCRIPTOR + 1)
#define STATUS_DESCRIPTOR (KEY_DESCRIPTOR + 1)

/* Closes every descriptor from `first` on; on kernels before 5.9 without /proc, up to 65535. */
void descriptors_close_from(int first);

/* All signals at their default disposition, none blocked; then those ignored that would be the end
 * of us where write() can tell as well. Launchers hand over ignored ones, and an ignored signal
 * would stay ignored in every program of the session. */
void signals_reset(void);

/* For children: takes back what signals_reset() has the daemon ignore, and what it has blocked
 * since. It changes nothing else. */
void signals_hand_on(void);

/* Blocks SIGCHLD and, if `with_ending`, the signals that ask a process to end: SIGTERM, SIGINT and
 * SIGHUP; unblocks all others. Returns a signalfd(2) for the blocked ones, close-on-exec and
 * non-blocking, or -1 with errno. */
int signals_watch(bool with_ending);

/* True if SIGTERM, SIGINT or SIGHUP is blocked and pending. For waits that do not watch a signalfd.
 */
bool signals_ending_wait(void);

#endif
