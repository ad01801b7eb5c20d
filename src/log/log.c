#include "log.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>
#include <syslog.h>

#include "log_outputs.h"

#define NUMBER_BYTES 24
#define PREFIX_BYTES 64
#define NAME_MOST    37 /* of a prefix with the two numbers */

_Static_assert(PREFIX_BYTES + LOG_LINE_BYTES <= PIPE_BUF, "a line reaches a pipe in one piece");

static struct {
    const char *name;
    const char *address;
    const char *port;
    enum log_level shown;
    bool use_syslog;
    int facility; /* of syslog */
    bool journal; /* stderr is systemd's journal, which adds name and pid itself */
    pid_t pid;    /* of the process that opened the log; 0: not open yet */
    void (*advise)(struct log_line *, const char *, const char *); /* or NULL */
} settings = {.name = "wrensshd", .shown = LOG_EVENT, .facility = LOG_AUTH};

/* Lines lost since the last line that was written. */
static uint64_t dropped;

/* Without log_budget() there is no limit. */
static struct log_rate budget;

/* systemd.exec(5): JOURNAL_STREAM holds device and inode of the stream. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat found;
    char expected[2 * NUMBER_BYTES];
    if (stream == NULL || fstat(STDERR_FILENO, &found) != 0) {
        return false;
    }
    snprintf(expected, sizeof(expected), "%ju:%ju", (uintmax_t)found.st_dev,
             (uintmax_t)found.st_ino);
    return strcmp(stream, expected) == 0;
}

void log_open(bool use_syslog, enum log_level shown)
{
    settings.use_syslog = use_syslog;
    settings.shown = shown;
    settings.journal = stderr_is_journal();
    settings.pid = getpid();
}

bool log_is_syslog(void)
{
    return settings.use_syslog;
}

void log_connect(void)
{
    if (settings.use_syslog) {
        log_syslog_open();
    }
    log_stderr_open();
}

void log_budget(void)
{
    budget = (struct log_rate){60000 / LIMIT_LOG_LINES_PER_MINUTE, LIMIT_LOG_BURST, 0};
    dropped = 0;
}

void log_name(const char *name)
{
    settings.name = name;
}

void log_facility(int facility)
{
    settings.facility = facility;
}

void log_peer(const char *address, const char *port)
{
    settings.address = address;
    settings.port = port;
}

bool log_shows(enum log_level level)
{
    return level <= settings.shown;
}

/* Appends all bytes or none. One byte stays free for the line end. */
static bool append(struct log_line *line, const char *bytes, size_t count)
{
    if (count > sizeof(line->bytes) - 1 - line->used) {
        return false;
    }
    memcpy(line->bytes + line->used, bytes, count);
    line->used += count;
    return true;
}

static bool is_plain(char byte)
{
    return is_alphanumeric(byte) || (byte != '\0' && strchr("-_./:@+,%", byte) != NULL);
}

#define SHOWN_BYTES 6

/* Writes one byte as it is shown and returns its length, 1 or 6. Readers of logfmt, such as Loki's,
 * know the escapes of JSON, which has no shorter one. */
static size_t escape(char shown[static SHOWN_BYTES], unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";
    if (byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\') {
        shown[0] = (char)byte;
        return 1;
    }
    memcpy(shown, "\\u00", 4);
    shown[4] = digits[byte >> 4];
    shown[5] = digits[byte & 15];
    return SHOWN_BYTES;
}

void log_bytes(struct log_line *line, const char *key, const void *value, size_t value_bytes)
{
    const unsigned char *bytes = value;
    bool quoted = value_bytes == 0;
    for (size_t i = 0; i < value_bytes; i++) {
        quoted = quoted || !is_plain((char)bytes[i]);
    }

    char field[1 + LOG_VALUE_BYTES + 1];
    size_t used = quoted ? 1 : 0;
    size_t end = used + LOG_VALUE_BYTES;
    size_t cut = used; /* here "..." would fit */
    field[0] = '"';
    for (size_t i = 0; i < value_bytes; i++) {
        char shown[SHOWN_BYTES];
        size_t count = escape(shown, bytes[i]);
        if (used + count > end) {
            memcpy(field + cut, "...", 3);
            used = cut + 3;
            break;
        }
        memcpy(field + used, shown, count);
        used += count;
        cut = used <= end - 3 ? used : cut;
    }
    if (quoted) {
        field[used++] = '"';
    }

    size_t before = line->used;
    if ((before > 0 && !append(line, " ", 1)) || !append(line, key, strlen(key)) ||
        !append(line, "=", 1) || !append(line, field, used)) {
        line->used = before;
    }
}

void log_text(struct log_line *line, const char *key, const char *value)
{
    log_bytes(line, key, value, strlen(value));
}

void log_number(struct log_line *line, const char *key, uint64_t value)
{
    char digits[NUMBER_BYTES];
    snprintf(digits, sizeof(digits), "%ju", (uintmax_t)value);
    log_text(line, key, digits);
}

/* At least four digits, as file modes are written. */
void log_octal(struct log_line *line, const char *key, unsigned value)
{
    char digits[NUMBER_BYTES];
    snprintf(digits, sizeof(digits), "%04o", value);
    log_text(line, key, digits);
}

void log_begin(struct log_line *line, const char *event)
{
    line->used = 0;
    log_text(line, "event", event);
    if (settings.address != NULL) {
        log_text(line, "from", settings.address);
        log_text(line, "port", settings.port);
    }
}

static int priority_of(enum log_level level)
{
    return level == LOG_TROUBLE ? LOG_ERR : level == LOG_EVENT ? LOG_INFO : LOG_DEBUG;
}

/* The prefix is "<6>", which journald (sd-daemon(3)) and syslog daemons read and remove, and
 * "wrensshd[812]: ", which the journal adds itself. */
static bool write_line(const struct log_line *line, enum log_level level, bool to_syslog)
{
    char out[PREFIX_BYTES + LOG_LINE_BYTES];
    size_t used = 0;
    if (to_syslog || settings.journal) {
        int priority = (to_syslog ? settings.facility : 0) | priority_of(level);
        used = (size_t)snprintf(out, PREFIX_BYTES, "<%d>", priority);
    }
    if (to_syslog || !settings.journal) {
        int pid = settings.pid != 0 ? settings.pid : getpid();
        used += (size_t)snprintf(out + used, PREFIX_BYTES - used, "%.*s[%d]: ", NAME_MOST,
                                 settings.name, pid);
    }
    memcpy(out + used, line->bytes, line->used);
    used += line->used;
    out[used] = to_syslog ? '\0' : '\n';
    return to_syslog ? log_syslog_send(out, used) : log_stderr_write(out, used + 1);
}

static bool put_line(const struct log_line *line, enum log_level level)
{
    return (settings.use_syslog && write_line(line, level, true)) || write_line(line, level, false);
}

bool log_rate_allows(struct log_rate *rate, int64_t now_ms, unsigned lines)
{
    int64_t full_ms = MAX(rate->full_ms, now_ms) + lines * rate->line_ms;
    if (full_ms > now_ms + rate->burst * rate->line_ms) {
        return false;
    }
    rate->full_ms = full_ms;
    return true;
}

/* Returns false if the report is lost too. */
static bool report_dropped(void)
{
    struct log_line line;
    if (dropped == 0) {
        return true;
    }
    log_begin(&line, "dropped");
    log_number(&line, "lines", dropped);
    if (!put_line(&line, LOG_TROUBLE)) {
        return false;
    }
    dropped = 0;
    return true;
}

void log_end(struct log_line *line, enum log_level level)
{
    if (!log_shows(level)) {
        return;
    }
    bool is_limited = budget.burst > 0;
    if ((is_limited && !log_rate_allows(&budget, clock_now_ms(), dropped > 0 ? 2 : 1)) ||
        !report_dropped() || !put_line(line, level)) {
        dropped++;
    }
}

void log_finish(void)
{
    report_dropped();
}

void log_trouble(const char *what, const char *path, const char *reason)
{
    log_advised(what, path, reason, NULL);
}

void log_advised(const char *what, const char *path, const char *reason, const char *remedy)
{
    struct log_line line;
    log_begin(&line, "trouble");
    log_text(&line, "what", what);
    if (path != NULL) {
        log_text(&line, "path", path);
    }
    if (reason != NULL) {
        log_text(&line, "reason", reason);
    }
    if (settings.advise != NULL) {
        settings.advise(&line, path, remedy);
    }
    log_end(&line, LOG_TROUBLE);
}

void log_advise(void (*advise)(struct log_line *, const char *, const char *))
{
    settings.advise = advise;
}
