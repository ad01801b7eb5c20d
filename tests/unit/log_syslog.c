/* This program's own connect() leads from /dev/log to a socket of the test. */
#include "log_outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

#include "log.h"
#include "scratch.h"
#include "unit.h"

#define LINE "<38>wrensshd[1]: event=test"

static char scratch[SCRATCH_BYTES];
static struct sockaddr_un place;
static int connects;

int connect(int fd, const struct sockaddr *address, socklen_t bytes)
{
    struct sockaddr_un asked;
    ck_assert_uint_eq(bytes, sizeof(asked));
    memcpy(&asked, address, sizeof(asked));
    ck_assert_str_eq(asked.sun_path, "/dev/log");
    connects++;
    return (int)syscall(SYS_connect, fd, &place, sizeof(place));
}

static void set_up(void)
{
    scratch_make(scratch);
    place.sun_family = AF_UNIX;
    snprintf(place.sun_path, sizeof(place.sun_path), "%.80s/log", scratch);
    /* Without MSG_NOSIGNAL the tests would end here. */
    signal(SIGPIPE, SIG_DFL);
}

UNIT_FIXTURE(set_up, NULL);

static int listen_as(int type)
{
    unlink(place.sun_path);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&place, sizeof(place)), 0);
    ck_assert(type == SOCK_DGRAM || listen(fd, 4) == 0);
    return fd;
}

static bool send_line(const char *line)
{
    return log_syslog_send(line, strlen(line));
}

static void assert_received(int fd, const char *wanted, size_t wanted_bytes)
{
    char got[4096];
    ssize_t count = recv(fd, got, sizeof(got), 0);
    ck_assert_int_eq(count, (ssize_t)wanted_bytes);
    ck_assert_mem_eq(got, wanted, wanted_bytes);
}

static long elapsed_ms(const struct timespec *since)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)(now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000;
}

TEST(a_datagram_each)
{
    int log = listen_as(SOCK_DGRAM);
    ck_assert(log_syslog_open() && log_syslog_open());
    ck_assert(send_line(LINE) && send_line("<35>two"));
    assert_received(log, LINE, strlen(LINE));
    assert_received(log, "<35>two", 7);
    ck_assert_int_eq(connects, 1);
}

TEST(a_stream_with_nuls_between)
{
    int log = listen_as(SOCK_STREAM);
    ck_assert(log_syslog_open());
    int taken = accept4(log, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(taken, 0);
    ck_assert(send_line("<35>one") && send_line("<35>two"));
    assert_received(taken, "<35>one\0<35>two", 16);
}

TEST(nobody_there)
{
    ck_assert(!log_syslog_open() && !send_line(LINE));
    int log = listen_as(SOCK_DGRAM);
    ck_assert(send_line(LINE));
    assert_received(log, LINE, strlen(LINE));
}

static const int types[] = {SOCK_DGRAM, SOCK_STREAM};

TEST_EACH(a_daemon_that_has_restarted, 2)
{
    int log = listen_as(types[_i]);
    ck_assert(send_line("<35>old"));
    close(log);
    ck_assert(!send_line("<35>lost"));
    log = listen_as(types[1 - _i]);
    ck_assert(send_line("<35>new"));
    close(log);
    log = listen_as(types[_i]);
    ck_assert(send_line("<35>newer"));
    int taken = types[_i] == SOCK_STREAM ? accept4(log, NULL, NULL, SOCK_CLOEXEC) : log;
    assert_received(taken, "<35>newer", types[_i] == SOCK_STREAM ? 10 : 9);
}

/* A sandbox may forbid to connect. */
TEST(stays_with_its_daemon)
{
    int log = listen_as(SOCK_DGRAM);
    ck_assert(log_syslog_open());
    log_syslog_stay();
    ck_assert(send_line(LINE));
    assert_received(log, LINE, strlen(LINE));
    close(log);
    log = listen_as(SOCK_DGRAM);
    ck_assert(!send_line("<35>lost") && !log_syslog_open());
    ck_assert_int_eq(connects, 1);
}

/* One wait, and no more until somebody reads. */
TEST_EACH(a_daemon_that_does_not_read, 2)
{
    char line[1500];
    struct timespec start;
    int log = listen_as(types[_i]);
    int sent = 0;
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    ck_assert(log_syslog_open());
    int taken = types[_i] == SOCK_STREAM ? accept4(log, NULL, NULL, SOCK_CLOEXEC) : log;
    clock_gettime(CLOCK_MONOTONIC, &start);
    while (send_line(line)) {
        ck_assert_int_lt(sent++, 100000);
    }
    ck_assert_int_gt(sent, 0);
    ck_assert_int_ge(elapsed_ms(&start), 400);
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < 5; i++) {
        ck_assert(types[_i] == SOCK_STREAM || !send_line(line));
    }
    ck_assert_int_lt(elapsed_ms(&start), 5 * 400); /* else each of them waits */
    ck_assert_int_eq(connects, 1 + (types[_i] == SOCK_STREAM));
    static char drained[1 << 20];
    for (int i = 0; i < 20; i++) {
        recv(taken, drained, sizeof(drained), MSG_DONTWAIT);
    }
    ck_assert(send_line(line));
}

TEST(a_descriptor_out_of_the_way)
{
    int log = listen_as(SOCK_DGRAM);
    ck_assert(log_syslog_open());
    for (int fd = 3; fd < FREE_DESCRIPTOR_MIN; fd++) {
        struct stat found;
        ck_assert(fd == log || fstat(fd, &found) != 0 || !S_ISSOCK(found.st_mode));
    }
    int sockets = 0;
    for (int fd = FREE_DESCRIPTOR_MIN; fd < 64; fd++) {
        struct stat found;
        if (fd != log && fstat(fd, &found) == 0 && S_ISSOCK(found.st_mode)) {
            ck_assert((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
            sockets++;
        }
    }
    ck_assert_int_eq(sockets, 1);
}

TEST(lines_of_the_log)
{
    char out[512], wanted[128];
    struct log_line line;
    int log = listen_as(SOCK_DGRAM);
    capture_begin();
    log_open(true, LOG_TRACE);
    ck_assert_int_eq(connects, 0);
    log_connect();
    ck_assert_int_eq(connects, 1);
    static const enum log_level levels[] = {LOG_TROUBLE, LOG_EVENT, LOG_DETAIL};
    static const int priorities[] = {35, 38, 39};
    for (size_t i = 0; i < 3; i++) {
        log_begin(&line, "test");
        log_end(&line, levels[i]);
        snprintf(wanted, sizeof(wanted), "<%d>wrensshd[%d]: event=test", priorities[i],
                 (int)getpid());
        assert_received(log, wanted, strlen(wanted));
    }
    /* What nobody takes goes to stderr. */
    close(log);
    unlink(place.sun_path);
    log_end(&line, LOG_EVENT);
    capture_end(out, sizeof(out));
    snprintf(wanted, sizeof(wanted), "wrensshd[%d]: event=test\n", (int)getpid());
    ck_assert_str_eq(out, wanted);
}

/* As where stderr was the connection: it is /dev/null then, which takes nothing down. */
TEST(lines_that_nobody_got_are_counted)
{
    char wanted[128];
    struct log_line line;
    int before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(dup2(null, STDERR_FILENO), STDERR_FILENO);
    log_open(true, LOG_EVENT);
    log_connect();
    for (int i = 0; i < 3; i++) {
        log_begin(&line, "lost");
        log_end(&line, LOG_EVENT);
    }
    int log = listen_as(SOCK_DGRAM);
    log_begin(&line, "test");
    log_end(&line, LOG_EVENT);
    dup2(before, STDERR_FILENO);
    snprintf(wanted, sizeof(wanted), "<35>wrensshd[%d]: event=dropped lines=3", (int)getpid());
    assert_received(log, wanted, strlen(wanted));
    snprintf(wanted, sizeof(wanted), "<38>wrensshd[%d]: event=test", (int)getpid());
    assert_received(log, wanted, strlen(wanted));
}

TEST(no_line_is_cut)
{
    struct log_line line;
    char value[LOG_VALUE_BYTES], got[4096];
    int log = listen_as(SOCK_DGRAM);
    log_name("a name that is longer than any that a program of ours could ever have");
    log_open(true, LOG_TRACE);
    memset(value, 'v', sizeof(value));
    log_begin(&line, "test");
    for (int i = 0; i < 8; i++) {
        log_bytes(&line, "key", value, sizeof(value));
    }
    size_t last = LOG_LINE_BYTES - 1 - line.used;
    log_bytes(&line, "k", value, last > 3 ? last - 3 : 0);
    ck_assert_uint_eq(line.used, LOG_LINE_BYTES - 1);
    log_end(&line, LOG_TROUBLE);
    ssize_t count = recv(log, got, sizeof(got), 0);
    ck_assert_int_gt(count, LOG_LINE_BYTES);
    ck_assert_mem_eq(got + count - line.used, line.bytes, line.used);
}
