/*
 * The log: one line an event, `key=value` pairs, to stderr or syslog. The monitor and the
 * session process write it; the network process has the monitor log its texts.
 *
 *     struct log_line line;
 *     log_begin(&line, "login");
 *     log_text(&line, "user", user);
 *     log_number(&line, "line", 3);
 *     log_end(&line, LOG_EVENT);
 *
 * gives `wrensshd[812]: event=login user=bob line=3`. Values that are empty or hold anything but
 * letters, digits and plain punctuation are quoted; quotes, backslashes and every byte
 * outside printable ASCII become \xNN, so a line can't be forged or a terminal driven.
 *
 * A line waits LIMIT_LOG_WAIT_MS for a reader that has stopped, and the next ones do not wait until
 * one has gone out. Lines that are lost are counted, in each process by itself; as soon as lines go
 * out again, the first says how many there were: `event=dropped lines=N`, at LOG_TROUBLE.
 *
 * After log_connect() the log makes these system calls and no other: write or sendto, poll (ppoll)
 * and, where the kernel has no vDSO, clock_gettime; with syslog also socket, connect, fcntl
 * (F_DUPFD_CLOEXEC) and close, if the collector was started anew.
 */
#ifndef WREN_LOG_H
#define WREN_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level {
    LOG_TROUBLE = 0, /* ours: shown even with -q */
    LOG_EVENT = 1,   /* the fixed lines */
    LOG_DETAIL = 2,  /* -v */
    LOG_TRACE = 3,   /* -vv */
};

/* Below PIPE_BUF, so that the lines of several servers on one pipe never mix. */
#define LOG_LINE_BYTES 1536

/* One value as it is shown, quotes not counted; what is longer ends in "...". No value can push
 * the fields after it (a verdict, a reason) off the line. */
#define LOG_VALUE_BYTES 300

struct log_line {
    size_t used;
    char bytes[LOG_LINE_BYTES]; /* cut off, never overrun; the line end always fits */
};

/* Sets where lines go and the highest level shown; before it, LOG_EVENT and below on stderr. The
 * process id of who calls it stands in later lines, its children's too. */
void log_open(bool use_syslog, enum log_level shown);

/* True if lines go to the system's log: then the process may have to connect to it anew. */
bool log_is_syslog(void);

/* Connects to the system's log, if that is where lines go, and opens stderr once more; see
 * log_syslog_open() and log_stderr_open() for when. */
void log_connect(void);

/* From now on at most LIMIT_LOG_BURST lines of any level at once and LIMIT_LOG_LINES_PER_MINUTE
 * after these; others are lost and counted. The first line after lost ones counts as two. For a
 * process whose lines a client can cause as often as it likes; to be called once, as it begins: the
 * lines that its parent has lost are its parent's to count. */
void log_budget(void);

/* The program's name in front of every later line instead of `wrensshd`; must stay valid. To be
 * called before log_open(). */
void log_name(const char *name);

/* Appended to every later line as ` from=ADDRESS port=PORT`, right after the event. The strings
 * must stay valid. */
void log_peer(const char *address, const char *port);

bool log_shows(enum log_level level);

void log_begin(struct log_line *line, const char *event);
void log_text(struct log_line *line, const char *key, const char *value);
void log_bytes(struct log_line *line, const char *key, const void *value, size_t value_bytes);
void log_number(struct log_line *line, const char *key, uint64_t value);
void log_octal(struct log_line *line, const char *key, unsigned value);

/* Writes the line out if its level is shown; what syslog does not take goes to stderr. Never fails:
 * a line that nobody takes is counted. */
void log_end(struct log_line *line, enum log_level level);

/* Reports lines that were lost and that no later line has reported, even beyond the budget. To be
 * called before a process ends. */
void log_finish(void);

/* `event=trouble what=… path=… reason=…` at LOG_TROUBLE; path and reason may be NULL. */
void log_trouble(const char *what, const char *path, const char *reason);

#endif
