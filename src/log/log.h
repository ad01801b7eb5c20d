/*
 * The log: one line for each event, `key=value` pairs, to stderr or syslog. The monitor and the
 * session process write it. The network process sends its texts to the monitor, which logs them.
 *
 *     struct log_line line;
 *     log_begin(&line, "login");
 *     log_text(&line, "user", user);
 *     log_number(&line, "line", 3);
 *     log_end(&line, LOG_EVENT);
 *
 * writes `wrensshd[812]: event=login user=bob line=3`. A value is quoted if it is empty or holds
 * anything but letters, digits and plain punctuation. Quotes, backslashes and all bytes outside
 * printable ASCII become \u00NN: no value can forge a line or control a terminal.
 *
 * If the reader of the log has stopped, a line waits up to LIMIT_LOG_WAIT_MS and is then lost.
 * Until a line has been written again, later lines do not wait. Each process counts the lines that
 * it has lost. When it can write again, the first line is the report `event=dropped lines=N`, at
 * LOG_TROUBLE.
 *
 * After log_connect() the log uses only these system calls: write or sendto, poll (ppoll), and
 * clock_gettime if the kernel has no vDSO; with syslog also socket, connect, fcntl
 * (F_DUPFD_CLOEXEC) and close, to connect to a syslog daemon that has restarted.
 */
#ifndef WREN_LOG_H
#define WREN_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level {
    LOG_TROUBLE = 0, /* our own errors: shown even with -q */
    LOG_EVENT = 1,   /* the lines of each connection */
    LOG_DETAIL = 2,  /* -v */
    LOG_TRACE = 3,   /* -vv */
};

/* With the prefix below PIPE_BUF, so that lines of several servers on one pipe never mix. */
#define LOG_LINE_BYTES 1536

/* The most that a line shows of one value, without quotes; a longer value ends in "...". So there
 * is always space for the fields that follow, such as the verdict and the reason. */
#define LOG_VALUE_BYTES 300

struct log_line {
    size_t used;
    char bytes[LOG_LINE_BYTES]; /* a field that does not fit is left out */
};

/* Sets the destination and the highest level that is shown. Before this call lines up to LOG_EVENT
 * go to stderr. Later lines, also of child processes, show the process id of the caller. */
void log_open(bool use_syslog, enum log_level shown);

/* True if lines go to syslog: then the process must be able to connect to it again. */
bool log_is_syslog(void);

/* The descriptor to which the lines for stderr go. */
int log_descriptor(void);

/* Connects to syslog if lines go there, and reopens stderr. See log_syslog_open() and
 * log_stderr_open() for when to call it. */
void log_connect(void);

/* From now on at most LIMIT_LOG_BURST lines at once, and then LIMIT_LOG_LINES_PER_MINUTE. Others
 * are lost and counted; the report of lost lines counts as a line. For a process whose lines a
 * client can cause without limit. To be called once, when the process starts: it also sets the
 * count of lost lines to zero, as the parent reports its own. */
void log_budget(void);

/* Sets the program's name, with which later lines begin instead of `wrensshd`. The string must stay
 * valid. To be called before log_open(). */
void log_name(const char *name);

/* Sets the facility of lines to syslog (syslog(3)); LOG_AUTH by default. */
void log_facility(int facility);

/* Adds ` from=ADDRESS port=PORT` to every later line, after the event. The strings must stay valid.
 */
void log_peer(const char *address, const char *port);

bool log_shows(enum log_level level);

void log_begin(struct log_line *line, const char *event);
void log_text(struct log_line *line, const char *key, const char *value);
void log_bytes(struct log_line *line, const char *key, const void *value, size_t value_bytes);
void log_number(struct log_line *line, const char *key, uint64_t value);
void log_octal(struct log_line *line, const char *key, unsigned value);

/* Writes the line if its level is shown. A line that syslog does not accept goes to stderr. A line
 * that can be written to neither is counted as lost. */
void log_end(struct log_line *line, enum log_level level);

/* Reports lines that were lost and that no later line has reported, even beyond the budget. To be
 * called before a process ends. */
void log_finish(void);

/* `event=trouble what=… path=… reason=…` at LOG_TROUBLE; path and reason may be NULL. */
void log_trouble(const char *what, const char *path, const char *reason);

/* The same, with what to do about it: -T shows that. */
void log_advised(const char *what, const char *path, const char *reason, const char *remedy);

/* Of what fails for lack of it. */
#define LOG_FREE_MEMORY "free some memory"

/* For -T: from now on `advise` adds to each such line. The remedy is NULL if the caller knows none.
 */
void log_advise(void (*advise)(struct log_line *line, const char *path, const char *remedy));

/* ---- a rate of lines, log.c ------------------------------------------------------------------ */

/* A token bucket: at most `burst` lines at once, and one more each `line_ms`. */
struct log_rate {
    int64_t line_ms;
    int64_t burst;
    int64_t full_ms; /* when it is full again, by a monotonic clock; at first 0 */
};

/* Returns true, and counts them, if so many lines may be written now. */
bool log_rate_allows(struct log_rate *rate, int64_t now_ms, unsigned lines);

#endif
