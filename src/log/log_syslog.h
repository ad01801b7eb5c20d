/*
 * Log lines to the syslog daemon, at /dev/log.
 */
#ifndef WREN_LOG_SYSLOG_H
#define WREN_LOG_SYSLOG_H

#include <stdbool.h>
#include <stddef.h>

#include "descriptor_numbers.h"

/* The least number of the connection's descriptor: above the fixed ones. */
#define LOG_DESCRIPTOR_MIN FREE_DESCRIPTOR_MIN

/* Connects, unless already connected. To be called after the launcher's descriptors are closed and
 * before the login, as the user may not be allowed to open /dev/log. Returns false without a syslog
 * daemon. */
bool log_syslog_open(void);

/* From now on connects no more: for a process whose sandbox forbids it. Then a restart of the
 * syslog daemon loses the lines that follow. */
void log_syslog_stay(void);

/*
 * Sends one line of `bytes` bytes with a NUL after them: `<priority>name[pid]: text`. It has no
 * time: rsyslog, syslog-ng, journald and busybox then use their own. Connects again if the daemon
 * has restarted. Waits LIMIT_LOG_WAIT_MS for a daemon that does not read, and not again until it
 * reads: a line may be lost, but logins continue. Returns false if the line is lost.
 */
bool log_syslog_send(const char *line, size_t bytes);

#endif
