/*
 * Lines to the collector of the system's log, at /dev/log.
 */
#ifndef WREN_LOG_SYSLOG_H
#define WREN_LOG_SYSLOG_H

#include <stdbool.h>
#include <stddef.h>

#include "descriptors.h"

/* The connection's descriptor is not below this: behind those that have a fixed number. */
#define COLLECTOR_DESCRIPTOR_MIN (STATUS_DESCRIPTOR + 1)

/* Connects, if that isn't done yet. To be called before the login, as later the user may not be let
 * to /dev/log, and after the launcher's descriptors are closed. False if nobody is there. */
bool log_syslog_open(void);

/*
 * Sends one line of `bytes` bytes with a NUL behind them, `<priority>name[pid]: text`. It says no
 * time: rsyslog, syslog-ng, journald and busybox then take their own. A collector that was started
 * anew is connected to again. Waits LIMIT_LOG_WAIT_MS for one that does not read, and not again
 * until it has: what is lost is a line, not the login. False if the line was not taken.
 */
bool log_syslog_send(const char *line, size_t bytes);

#endif
