/*
 * Lines of the log to standard error, whose reader may have stopped: a full pipe, a console after
 * XOFF, a socket.
 *
 * The open file description behind descriptor 2 is shared with the launcher and all of its
 * programs, so O_NONBLOCK is never set on it. A pipe or a terminal is opened once more through
 * /proc instead. Where that fails (no /proc, or a pipe of another user's) a write follows only
 * after poll() has said that there is room: it still blocks if another process fills the pipe in
 * between, or if a terminal has room for a part of the line only.
 */
#ifndef WREN_LOG_STDERR_H
#define WREN_LOG_STDERR_H

#include <stdbool.h>
#include <stddef.h>

/* Finds out what standard error is, and opens a pipe or a terminal once more. To be called after
 * the launcher's descriptors are closed and before the process gives up its rights. Until then
 * lines go out after poll(). */
void log_stderr_open(void);

/*
 * Writes one line of `bytes` bytes, its line end included, at most PIPE_BUF. Waits up to
 * LIMIT_LOG_WAIT_MS for a reader, and does not wait again until a line has gone out whole. False if
 * the line is lost, or a part of it: the next one then begins on a line of its own.
 */
bool log_stderr_write(const char *line, size_t bytes);

#endif
