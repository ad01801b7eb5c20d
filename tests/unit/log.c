/* For log/log.c and log/log_stderr.c. This program's own clock_gettime() and poll() let a
 * test set the clock forward and count waits. */
#include "log.h"

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "limit.h"
#include "scratch.h"
#include "unit.h"

static time_t ahead_seconds;
static int waits;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    timespec_get(now, TIME_UTC);
    now->tv_sec += ahead_seconds;
    return 0;
}

int poll(struct pollfd *watched, nfds_t count, int timeout_ms)
{
    const struct timespec timeout = {.tv_sec = timeout_ms / 1000,
                                     .tv_nsec = timeout_ms % 1000 * 1000000L};
    waits += timeout_ms > 0;
    ck_assert_int_ge(timeout_ms, 0);
    ck_assert_int_le(timeout_ms, LIMIT_LOG_WAIT_MS + 1);
    return ppoll(watched, count, &timeout, NULL);
}

static void say(const char *event)
{
    struct log_line line;
    log_begin(&line, event);
    log_end(&line, LOG_EVENT);
}

/* Writes one line with one field and returns what came out, without the prefix. */
static const char *field(const char *key, const void *value, size_t value_bytes)
{
    static char out[4096];
    struct log_line line;
    capture_begin();
    log_begin(&line, "test");
    log_bytes(&line, key, value, value_bytes);
    log_end(&line, LOG_EVENT);
    size_t count = capture_end(out, sizeof(out));
    ck_assert_uint_gt(count, 0);
    ck_assert_int_eq(out[count - 1], '\n');
    out[count - 1] = '\0';
    ck_assert_ptr_null(strchr(out, '\n'));
    const char *start = strstr(out, "]: event=test");
    ck_assert_ptr_nonnull(start);
    return start + strlen("]: event=test");
}

TEST(one_line_as_documented)
{
    char out[1024], expected[256];
    struct log_line line;
    log_peer("192.0.2.1", "4711");
    capture_begin();
    log_begin(&line, "login");
    log_text(&line, "user", "bob");
    log_number(&line, "line", 3);
    log_number(&line, "most", UINT64_MAX);
    log_octal(&line, "mode", 0664);
    log_octal(&line, "mode", 01777);
    log_octal(&line, "mode", 0);
    log_octal(&line, "mode", 0xffffffffU);
    log_end(&line, LOG_EVENT);
    capture_end(out, sizeof(out));
    snprintf(expected, sizeof(expected),
             "wrensshd[%d]: event=login from=192.0.2.1 port=4711 user=bob line=3 "
             "most=18446744073709551615 mode=0664 mode=1777 mode=0000 mode=37777777777\n",
             (int)getpid());
    ck_assert_str_eq(out, expected);
}

static const struct {
    const char *value;
    const char *shown;
} shown[] = {
    {"plain", " k=plain"},
    {"/a/b-c_d.e:f@g+h,i%j", " k=/a/b-c_d.e:f@g+h,i%j"},
    {"", " k=\"\""},
    {"two words", " k=\"two words\""},
    {"a=b", " k=\"a=b\""},
    {"say \"hi\"", " k=\"say \\u0022hi\\u0022\""},
    {"back\\slash", " k=\"back\\u005cslash\""},
    {"x\nwrensshd[1]: event=login verdict=accepted",
     " k=\"x\\u000awrensshd[1]: event=login verdict=accepted\""},
    {"\x1b[2J\x07", " k=\"\\u001b[2J\\u0007\""},
    {"caf\xc3\xa9", " k=\"caf\\u00c3\\u00a9\""},
    {"%n%s", " k=%n%s"},
    {"\x7f\r\t", " k=\"\\u007f\\u000d\\u0009\""},
};

TEST_EACH(values_are_escaped, COUNT_OF(shown))
{
    ck_assert_str_eq(field("k", shown[_i].value, strlen(shown[_i].value)), shown[_i].shown);
}

TEST(a_nul_does_not_end_a_value)
{
    ck_assert_str_eq(field("k", "a\0b", 3), " k=\"a\\u0000b\"");
}

TEST(every_byte_comes_out_printable)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        unsigned char value = (unsigned char)byte;
        for (const char *at = field("k", &value, 1); *at != '\0'; at++) {
            ck_assert(*at >= 0x20 && *at < 0x7f);
        }
    }
}

TEST(long_values_are_cut_and_leave_room)
{
    char out[4096], value[5000];
    struct log_line line;
    memset(value, '\x01', sizeof(value));
    capture_begin();
    log_begin(&line, "login");
    log_bytes(&line, "user", value, sizeof(value));
    log_bytes(&line, "type", value, sizeof(value));
    log_bytes(&line, "path", value, sizeof(value));
    log_text(&line, "reason", "unknown user");
    log_end(&line, LOG_EVENT);
    size_t count = capture_end(out, sizeof(out));
    assert_contains(out, "\\u0001...\" type=\"\\u0001");
    assert_contains(out, " reason=\"unknown user\"\n");
    ck_assert_uint_le(count, LOG_LINE_BYTES + 64);

    memset(value, 'a', sizeof(value));
    const char *cut = field("k", value, LOG_VALUE_BYTES + 1);
    ck_assert_uint_eq(strlen(cut), strlen(" k=") + LOG_VALUE_BYTES);
    assert_contains(cut, "aaa...");
    assert_lacks(field("k", value, LOG_VALUE_BYTES), "...");
}

TEST(lines_never_overrun)
{
    char out[4096];
    struct {
        struct log_line line;
        char guard[64];
    } guarded;
    memset(&guarded, 0x5a, sizeof(guarded));
    capture_begin();
    log_begin(&guarded.line, "flood");
    for (int i = 0; i < 500; i++) {
        log_text(&guarded.line, "key", "a value of some bytes\x80");
        log_number(&guarded.line, "number", (uint64_t)i);
    }
    ck_assert_uint_lt(guarded.line.used, LOG_LINE_BYTES);
    log_end(&guarded.line, LOG_EVENT);
    size_t count = capture_end(out, sizeof(out));
    ck_assert_int_eq(out[count - 1], '\n');
    for (size_t i = 0; i < sizeof(guarded.guard); i++) {
        ck_assert_int_eq(guarded.guard[i], 0x5a);
    }
}

TEST(levels_are_kept)
{
    static const enum log_level levels[] = {LOG_TROUBLE, LOG_EVENT, LOG_DETAIL, LOG_TRACE};
    for (size_t set = 0; set < 4; set++) {
        for (size_t level = 0; level < 4; level++) {
            char out[512];
            struct log_line line;
            log_open(false, levels[set]);
            ck_assert_int_eq(log_shows(levels[level]), level <= set);
            capture_begin();
            log_begin(&line, "test");
            log_end(&line, levels[level]);
            ck_assert_int_eq(capture_end(out, sizeof(out)) > 0, level <= set);
        }
    }
}

TEST(trouble_names_path_and_reason)
{
    char out[1024];
    log_open(false, LOG_TROUBLE);
    log_name("wrensshd-makekey");
    capture_begin();
    log_trouble("host key", "/etc/wren ssh", "not 64 bytes long");
    log_trouble("fork", NULL, NULL);
    capture_end(out, sizeof(out));
    assert_contains(out, "wrensshd-makekey[");
    assert_contains(out, "]: event=trouble what=\"host key\" path=\"/etc/wren ssh\" "
                         "reason=\"not 64 bytes long\"\n");
    assert_contains(out, "]: event=trouble what=fork\n");
}

TEST(children_show_the_number_of_who_opened_the_log)
{
    char out[512], expected[128];
    log_open(false, LOG_EVENT);
    capture_begin();
    pid_t child = fork();
    if (child == 0) {
        say("child");
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    capture_end(out, sizeof(out));
    snprintf(expected, sizeof(expected), "wrensshd[%d]: event=child\n", (int)getpid());
    ck_assert_str_eq(out, expected);
}

/* ---- a reader that has stopped --------------------------------------------------------------- */

enum kind { PIPE, TERMINAL, SOCKET, KINDS };

/* Both ends of what stands in the place of stderr. */
struct stopped {
    enum kind kind;
    int stderr_before, ours, theirs;
};

static void open_ends(struct stopped *stopped)
{
    int ends[2];
    if (stopped->kind == TERMINAL) {
        ck_assert_int_eq(openpty(&ends[0], &ends[1], NULL, NULL, NULL), 0);
    } else if (stopped->kind == PIPE) {
        ck_assert_int_eq(pipe(ends), 0);
    } else {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    }
    stopped->ours = ends[0];
    stopped->theirs = ends[1];
    fcntl(stopped->ours, F_SETFL, fcntl(stopped->ours, F_GETFL) | O_NONBLOCK);
    stopped->stderr_before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
}

/* Full to the last byte; a terminal is stopped as by ^S. */
static void stop(const struct stopped *stopped)
{
    if (stopped->kind == TERMINAL) {
        ck_assert_int_eq(tcflow(stopped->theirs, TCOOFF), 0);
        return;
    }
    int flags = fcntl(stopped->theirs, F_GETFL);
    fcntl(stopped->theirs, F_SETFL, flags | O_NONBLOCK);
    static const char filler[4096];
    while (write(stopped->theirs, filler, sizeof(filler)) > 0) {
    }
    while (write(stopped->theirs, filler, 1) > 0) {
    }
    fcntl(stopped->theirs, F_SETFL, flags);
}

/* Reads all there is, and on until `last` has come: a terminal hands on in its own time. */
static void drain(const struct stopped *stopped, char *out, size_t out_bytes, const char *last)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    size_t used = 0;
    out[0] = '\0';
    for (int turns = 0; turns < 200; turns++) {
        ssize_t count;
        while ((count = read(stopped->ours, out + used, out_bytes - 1 - used)) > 0) {
            used += (size_t)count;
            out[used] = '\0';
        }
        if (last == NULL || strstr(out, last) != NULL) {
            return;
        }
        nanosleep(&pause, NULL);
    }
}

static void go_on(const struct stopped *stopped)
{
    static char drained[1 << 20];
    if (stopped->kind == TERMINAL) {
        ck_assert_int_eq(tcflow(stopped->theirs, TCOON), 0);
    } else {
        drain(stopped, drained, sizeof(drained), NULL);
    }
}

/* Every kind, before and after log_connect(). */
TEST_EACH(a_reader_that_has_stopped, 2 * KINDS)
{
    char out[4096], expected[256];
    struct stopped stopped = {.kind = (enum kind)(_i / 2)};
    open_ends(&stopped);
    if (_i % 2 != 0) {
        log_connect();
    }
    say("before");
    drain(&stopped, out, sizeof(out), stopped.kind == TERMINAL ? "before\r\n" : "before\n");
    assert_contains(out, "event=before");
    for (int round = 0; round < 2; round++) {
        stop(&stopped);
        waits = 0;
        for (int i = 0; i < 5; i++) {
            say("lost");
        }
        ck_assert_int_eq(waits, 1);
        go_on(&stopped);
        log_trouble("again", NULL, NULL);
        say("more");
        const char *end = stopped.kind == TERMINAL ? "\r\n" : "\n";
        drain(&stopped, out, sizeof(out), stopped.kind == TERMINAL ? "more\r\n" : "more\n");
        snprintf(expected, sizeof(expected),
                 "wrensshd[%d]: event=dropped lines=5%swrensshd[%d]: event=trouble what=again%s"
                 "wrensshd[%d]: event=more%s",
                 (int)getpid(), end, (int)getpid(), end, (int)getpid(), end);
        ck_assert_str_eq(out, expected);
    }
    /* It is the launcher's, too. */
    ck_assert_int_eq(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, 0);
    dup2(stopped.stderr_before, STDERR_FILENO);
}

/* A reader that is late still gets the line. */
TEST_EACH(a_slow_reader_loses_nothing, KINDS)
{
    static char out[1 << 20];
    struct stopped stopped = {.kind = (enum kind)_i};
    open_ends(&stopped);
    log_connect();
    stop(&stopped);
    pid_t reader = fork();
    if (reader == 0) {
        struct timespec pause = {.tv_nsec = 50000000};
        nanosleep(&pause, NULL);
        go_on(&stopped);
        _exit(0);
    }
    say("late");
    ck_assert_int_eq(waitpid(reader, NULL, 0), reader);
    say("more");
    drain(&stopped, out, sizeof(out), "more");
    dup2(stopped.stderr_before, STDERR_FILENO);
    assert_lacks(out, "dropped");
    assert_contains(out, "event=more");
}

TEST_EACH(nobody_reads_any_more, 4)
{
    char out[1024];
    struct stopped stopped = {.kind = _i % 2 == 0 ? PIPE : SOCKET};
    signal(SIGPIPE, SIG_IGN); /* as the daemon has it */
    open_ends(&stopped);
    close(stopped.theirs);
    close(stopped.ours);
    if (_i / 2 != 0) {
        log_connect();
    }
    waits = 0;
    say("lost");
    say("lost");
    ck_assert_int_eq(waits, 0);
    dup2(stopped.stderr_before, STDERR_FILENO);
    if (_i / 2 == 0) {
        capture_begin();
        say("more");
        capture_end(out, sizeof(out));
        assert_contains(out, "event=dropped lines=2\n");
    }
}

static char scratch[SCRATCH_BYTES];

/* A file in the place of stderr. */
static int open_file(void)
{
    char path[2 * SCRATCH_BYTES];
    scratch_make(scratch);
    snprintf(path, sizeof(path), "%s/log", scratch);
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    return fd;
}

static const char *read_file(int fd)
{
    static char text[1 << 20];
    ssize_t count = pread(fd, text, sizeof(text) - 1, 0);
    ck_assert_int_ge(count, 0);
    text[count] = '\0';
    return text;
}

/* A disk that is full takes the beginning of a line. */
TEST(a_part_of_a_line_stands_alone)
{
    char expected[256];
    signal(SIGXFSZ, SIG_IGN); /* as the daemon has it */
    int fd = open_file();
    say("before");
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = strlen(read_file(fd)) + 5;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    say("cut");
    say("lost");
    limit.rlim_cur = before;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    say("after");
    const int pid = (int)getpid();
    snprintf(expected, sizeof(expected),
             "wrensshd[%d]: event=before\nwrens\nwrensshd[%d]: event=dropped lines=2\n"
             "wrensshd[%d]: event=after\n",
             pid, pid, pid);
    ck_assert_str_eq(read_file(fd), expected);
}

/* ---- the budget ------------------------------------------------------------------------------ */

static unsigned count_lines(const char *text)
{
    unsigned count = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++) {
        count++;
    }
    return count;
}

/* Says so many lines and returns how many came out. */
static unsigned flood(int fd, unsigned lines)
{
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    for (unsigned i = 0; i < lines; i++) {
        if (i % 2 == 0) {
            say("flood");
        } else {
            log_trouble("flood", NULL, NULL);
        }
    }
    return count_lines(read_file(fd));
}

TEST(a_budget_of_lines)
{
    int fd = open_file();
    ck_assert_uint_eq(flood(fd, 5), 5);
    log_budget();
    /* What a second more or less of a slow machine gives. */
    const unsigned slack = LIMIT_LOG_LINES_PER_MINUTE;
    unsigned lines = flood(fd, LIMIT_LOG_BURST + 500);
    ck_assert_uint_ge(lines, LIMIT_LOG_BURST);
    ck_assert_uint_le(lines, LIMIT_LOG_BURST + slack);
    assert_lacks(read_file(fd), "event=dropped");
    ck_assert_uint_le(flood(fd, 500), slack);

    ahead_seconds += 600;
    lines = flood(fd, 20 * LIMIT_LOG_LINES_PER_MINUTE);
    ck_assert_uint_ge(lines, 10 * LIMIT_LOG_LINES_PER_MINUTE);
    ck_assert_uint_le(lines, 10 * LIMIT_LOG_LINES_PER_MINUTE + slack);
    const char *first = strstr(read_file(fd), "event=dropped lines=");
    ck_assert_ptr_nonnull(first);
    ck_assert_int_ge(atoi(first + strlen("event=dropped lines=")), 1000 - (int)slack);
    ck_assert_int_le(atoi(first + strlen("event=dropped lines=")), 1000);

    ahead_seconds += 30 * 86400;
    lines = flood(fd, 2 * LIMIT_LOG_BURST);
    ck_assert_uint_ge(lines, LIMIT_LOG_BURST);
    ck_assert_uint_le(lines, LIMIT_LOG_BURST + slack);
    ahead_seconds = 0; /* Check looks at the clock, too */
}

/* A connection that stays open, with as many commands a day as the budget's reason says. */
TEST(a_busy_day_loses_nothing)
{
    int fd = open_file();
    log_budget();
    for (int hour = 0; hour < 24; hour++) {
        ck_assert_uint_eq(flood(fd, 400), 400);
        ahead_seconds += 3600;
    }
    ck_assert_uint_eq(flood(fd, 3500), 3500);
    assert_lacks(read_file(fd), "dropped");
    ahead_seconds = 0;
}

/* Every line of the file is one that went out or a report of lines that did not. */
static void assert_all_accounted(const char *text, unsigned said)
{
    static const char key[] = "event=dropped lines=";
    unsigned accounted = count_lines(text);
    for (const char *at = text; (at = strstr(at, key)) != NULL; at++) {
        accounted += (unsigned)atoi(at + strlen(key)) - 1;
    }
    ck_assert_uint_eq(accounted, said);
}

/* The budget is used up, so no later line reports what was lost. */
TEST(the_end_reports_what_was_lost)
{
    int fd = open_file();
    log_budget();
    unsigned before = flood(fd, LIMIT_LOG_BURST + 500);
    log_finish();
    ck_assert_uint_eq(count_lines(read_file(fd)), before + 1);
    assert_all_accounted(read_file(fd), LIMIT_LOG_BURST + 500);
    log_finish();
    ck_assert_uint_eq(count_lines(read_file(fd)), before + 1);
}
