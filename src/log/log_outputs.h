/*
 * Where lines of the log go: standard error and the syslog daemon.
 */
#ifndef WREN_LOG_OUTPUTS_H
#define WREN_LOG_OUTPUTS_H

#include "base.h"

/* ---- standard error, log_stderr.c ------------------------------------------------------------ */

/*
 * Its reader may have stopped: a full pipe, a console after XOFF, a socket.
 *
 * The launcher and all its programs share the open file description of descriptor 2, so we never
 * set O_NONBLOCK on it. A pipe or a terminal is opened again through /proc instead. If that fails
 * (no /proc, or another user's pipe), we write only after poll() has reported space. Such a write
 * still blocks if another process fills the pipe in between, or if a terminal has space for only a
 * part of the line.
 */

/* Finds out what standard error is, and opens a pipe or a terminal again. To be called after the
 * launcher's descriptors are closed and before the process gives up its rights. Before this call
 * lines are written after poll(). */
void log_stderr_open(void);

/*
 * Writes one line of `bytes` bytes with its line end, at most PIPE_BUF. Waits up to
 * LIMIT_LOG_WAIT_MS for a reader, and not again until a whole line was written. Returns false if
 * the line or a part of it is lost. After a part, the next call first ends the line.
 */
bool log_stderr_write(const char *line, size_t bytes);

/* ---- the syslog daemon, at /dev/log, log_syslog.c -------------------------------------------- */

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
