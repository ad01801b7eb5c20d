/* session/streams.c and ipc/sftp_report.c: reports of an SFTP server become log lines. */
#include "session_internal.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "log.h"
#include "process.h"
#include "scratch.h"
#include "unit.h"

static int ends[2];
static char said[8192];
static bool was_last;
static const struct sftp_origin origin = {"bob", "SHA256:x", 3, 4711};

static void begin(void)
{
    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

static void finish(void)
{
    close(ends[0]);
    close(ends[1]);
}

UNIT_FIXTURE(begin, finish);
UNIT_TIMEOUT(30);

/* What the log says after these bytes have come. */
static const char *said_of(const void *bytes, size_t count, enum log_level shown)
{
    log_open(false, shown);
    ck_assert_int_eq(send(ends[1], bytes, count, 0), (ssize_t)count);
    capture_begin();
    was_last = false;
    ck_assert(sftp_reports_read(ends[0], &origin, &was_last));
    capture_end(said, sizeof(said));
    return said;
}

TEST(end_names_layers_and_counts)
{
    const struct sftp_report report = {
        .kind = SFTP_REPORT_END,
        .layers = SANDBOX_REQUIRED_AS_USER & ~(uint32_t)SANDBOX_SECCOMP,
        .counts = {.files = 1, .read_bytes = 2, .written_bytes = 3, .refused = 4},
        .text = "client has left"};
    assert_contains(said_of(&report, sizeof(report), LOG_EVENT),
                    "event=sftp user=bob channel=3 layers=no-new-privs,not-dumpable,rlimits "
                    "missing=seccomp files=1 read=2 written=3 refused=4 "
                    "reason=\"client has left\" pid=4711 key=SHA256:x\n");
    ck_assert(was_last);
}

static const struct {
    int status;
    const char *reason;
} ends_without_report[] = {
    {SIGKILL, "server killed by signal 9"},
    {SIGSYS, "server killed by signal " TEXT_OF(SIGSYS) " (seccomp?)"},
    {100 << 8, "server exited with status 100"},
};

TEST_EACH(end_without_a_report, 3)
{
    char expected[256];
    log_open(false, LOG_EVENT);
    capture_begin();
    sftp_reports_end(ends_without_report[_i].status, &origin);
    capture_end(said, sizeof(said));
    snprintf(expected, sizeof(expected),
             "event=sftp user=bob channel=3 reason=\"%s\" pid=4711 key=SHA256:x\n",
             ends_without_report[_i].reason);
    assert_contains(said, expected);
}

TEST(end_before_the_sandbox_names_no_layers)
{
    const struct sftp_report report = {.kind = SFTP_REPORT_END, .text = "wrong flags"};
    assert_contains(said_of(&report, sizeof(report), LOG_EVENT),
                    "event=sftp user=bob channel=3 files=0 read=0 written=0 refused=0 "
                    "reason=\"wrong flags\" pid=4711 key=SHA256:x\n");
}

TEST(files_are_a_detail)
{
    const struct sftp_report report = {.kind = SFTP_REPORT_FILE,
                                       .counts = {.read_bytes = 5, .written_bytes = 6},
                                       .text = "/a b\nevent=login"};
    ck_assert_str_eq(said_of(&report, sizeof(report), LOG_EVENT), "");
    assert_contains(said_of(&report, sizeof(report), LOG_DETAIL),
                    "event=sftp-file user=bob channel=3 name=\"/a b\\u000aevent=login\" read=5 "
                    "written=6 pid=4711 key=SHA256:x\n");
    ck_assert(!was_last);
}

TEST(full_says_why)
{
    const struct sftp_report report = {.kind = SFTP_REPORT_FULL, .text = "Too many"};
    assert_contains(said_of(&report, sizeof(report), LOG_EVENT),
                    "event=sftp-full user=bob channel=3 reason=\"Too many\" "
                    "pid=4711 key=SHA256:x\n");
    ck_assert(!was_last);
}

/* As many as the socket holds. */
TEST(whole_end_is_read_at_once)
{
    const struct sftp_report file = {.kind = SFTP_REPORT_FILE, .text = "f"};
    for (int i = 0; i < 99; i++) {
        ck_assert_int_gt(send(ends[1], &file, sizeof(file), MSG_DONTWAIT), 0);
    }
    const struct sftp_report report = {.kind = SFTP_REPORT_END, .text = "client has left"};
    assert_contains(said_of(&report, sizeof(report), LOG_EVENT), "reason=\"client has left\"");
    ck_assert(was_last);
}

TEST(anything_else_says_nothing)
{
    struct sftp_report report = {.kind = SFTP_REPORT_END, .text = "x"};
    ck_assert_str_eq(said_of(&report, sizeof(report) - 1, LOG_TRACE), "");
    ck_assert_str_eq(said_of("x", 1, LOG_TRACE), "");
    report.kind = 3;
    ck_assert_str_eq(said_of(&report, sizeof(report), LOG_TRACE), "");
    report.kind = SFTP_REPORT_END;
    memset(report.text, 'x', sizeof(report.text));
    ck_assert_str_eq(said_of(&report, sizeof(report), LOG_TRACE), "");
}

TEST(nothing_is_waited_for)
{
    capture_begin();
    ck_assert(sftp_reports_read(ends[0], &origin, &was_last));
    close(ends[1]);
    ends[1] = -1;
    ck_assert(!sftp_reports_read(ends[0], &origin, &was_last));
    capture_end(said, sizeof(said));
    ck_assert_str_eq(said, "");
}
