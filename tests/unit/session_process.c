/*
 * Covers session_process.c and session_ipc.c: starts the session process from a
 * process that plays the monitor, and sends requests from the network process's end of its
 * socket. Links nothing of monitor/.
 */
#include "session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base.h"
#include "descriptor.h"
#include "ipc.h"
#include "proc.h"
#include "process.h"
#include "process_rig.h"
#include "scratch.h"
#include "unit.h"

static char home[SCRATCH_BYTES];
static struct session_options options;
static struct peer peer = {.address = "192.0.2.1", .port = "4711", .has_ip = true};
static struct account account;
static struct account_groups groups;
static struct grant grant;

#define SECRET 0x5a

/* What the process that plays the monitor reports of the start and of the end. */
struct report {
    int result, error;
    pid_t pid;
    int status;
    void *secret;
    int closes[SESSION_CLOSES];
    char reason[LIMIT_NOTE_BYTES + 1];
};

static pid_t monitor;
static int session;    /* the network process's end */
static int reports[2]; /* [0] ours */
static int orders[2];  /* [1] ours: each byte asks for a report, 'e' for one of the end */
static int reader;     /* the log */
static struct report report;
static char said[65536];

static void begin(void)
{
    scratch_make(home);
    memset(&options, 0, sizeof(options));
    memset(&account, 0, sizeof(account));
    memset(&groups, 0, sizeof(groups));
    memset(&grant, 0, sizeof(grant));
    snprintf(account.user, sizeof(account.user), "alice");
    snprintf(account.home, sizeof(account.home), "%s", home);
    snprintf(account.shell, sizeof(account.shell), "/bin/sh");
    ck_assert_int_eq(chdir("/"), 0); /* as drop_privileges() */
    account.uid = geteuid();
    account.gid = getegid();
    grant.flags = GRANT_OF_PLAIN_LINE;
}

UNIT_FIXTURE(begin, NULL);
UNIT_TIMEOUT(60);

__attribute__((noreturn)) static void run_monitor(int session_end)
{
    struct session_handle handle = {0};
    char byte;
    int own_reports = process_move_high(reports[1]);
    int own_orders = process_move_high(orders[0]);
    int own_session = process_move_high(session_end);
    signal(SIGTERM, SIG_DFL);
    signal(SIGIO, SIG_DFL);
    signal(SIGPIPE, SIG_IGN); /* as the monitor has it */
    close(reports[0]);
    close(orders[1]);
    close(session);
    close(reader);
    dup2(own_session, SESSION_DESCRIPTOR);
    fcntl(SESSION_DESCRIPTOR, F_SETFD, FD_CLOEXEC);
    close(own_session);
    report.secret = secret_new(4096);
    memset(report.secret, SECRET, 4096);
    for (int i = 0; i < SESSION_CLOSES; i++) {
        report.closes[i] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 40);
    }
    const struct session_setup setup = {
        .options = options,
        .peer = &peer,
        .account = &account,
        .groups = &groups,
        .grant = &grant,
        .closes = {report.closes[0], report.closes[1], report.closes[2], report.closes[3]},
        .secret = report.secret,
        .secret_bytes = 4096,
        .deadline_ms = clock_now_ms() + 20000,
    };
    report.result = session_process_start(&handle, &setup);
    report.error = errno;
    report.pid = report.result == 0 ? handle.pid : waitpid(-1, NULL, WNOHANG);
    close(SESSION_DESCRIPTOR);
    if (write(own_reports, &report, sizeof(report)) != sizeof(report)) {
        _exit(1);
    }
    while (read(own_orders, &byte, 1) == 1) {
        if (byte == 'e') {
            waitpid(handle.pid, &report.status, 0);
        }
        session_process_reason(&handle, report.reason);
        if (write(own_reports, &report, sizeof(report)) != sizeof(report)) {
            _exit(1);
        }
    }
    _exit(0);
}

static void start(void)
{
    int pair[2], log_ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(pipe2(reports, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(orders, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(log_ends, O_CLOEXEC), 0);
    session = pair[1];
    reader = log_ends[0];
    monitor = fork();
    ck_assert_int_ge(monitor, 0);
    if (monitor == 0) {
        dup2(log_ends[1], STDERR_FILENO);
        close(log_ends[1]);
        run_monitor(pair[0]);
    }
    close(pair[0]);
    close(reports[1]);
    close(orders[0]);
    close(log_ends[1]);
    ck_assert_int_eq(read(reports[0], &report, sizeof(report)), sizeof(report));
}

static void start_well(void)
{
    start();
    ck_assert_msg(report.result == 0, "start: errno %d", report.error);
}

static void ask_monitor(char what)
{
    ck_assert_int_eq(write(orders[1], &what, 1), 1);
    ck_assert_int_eq(read(reports[0], &report, sizeof(report)), sizeof(report));
}

/* Waits for the session process, then lets the monitor go; the log is in `said`. */
static void await_end(void)
{
    alarm(20);
    ask_monitor('e');
    close(orders[1]);
    process_read_log(reader, said, sizeof(said));
    ck_assert_int_eq(waitpid(monitor, NULL, 0), monitor);
}

/* It exited with status 0 and reported no reason. */
static void expect_good_end(void)
{
    await_end();
    ck_assert_msg(WIFEXITED(report.status) && WEXITSTATUS(report.status) == 0, "wait status %#x",
                  (unsigned)report.status);
    ck_assert_str_eq(report.reason, "");
}

static ssize_t ask(const void *request, size_t request_bytes, void *reply, size_t reply_bytes)
{
    return process_ask(session, request, request_bytes, reply, reply_bytes);
}

/* The request must end the process, which reports this reason before. */
static void assert_fatal(const void *request, size_t request_bytes, const char *reason)
{
    char reply[512];
    ck_assert_int_le(ask(request, request_bytes, reply, sizeof(reply)), 0);
    await_end();
    ck_assert(WIFEXITED(report.status) && WEXITSTATUS(report.status) == 111);
    assert_contains(report.reason, reason);
}

/* ---- who it is ------------------------------------------------------------------------------- */

TEST(the_process_becomes_the_user_for_good)
{
    static const char *const lines[][2] = {
        {"Uid:", "\t4000\t4000\t4000\t4000\n"}, {"Gid:", "\t4001\t4001\t4001\t4001\n"},
        {"Groups:", "\t4001 4100 \n"},          {"CapInh:", "\t0000000000000000\n"},
        {"CapPrm:", "\t0000000000000000\n"},    {"CapEff:", "\t0000000000000000\n"},
    };
    char found[256], path[64], target[64];
    struct stat owner;
    if (geteuid() != 0) {
        return;
    }
    account.uid = 4000;
    account.gid = 4001;
    groups.count = 2;
    groups.ids[0] = 4001;
    groups.ids[1] = 4100;
    start_well();
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        proc_status(found, report.pid, lines[i][0]);
        ck_assert_msg(strcmp(found, lines[i][1]) == 0, "%s%s", lines[i][0], found);
    }
    snprintf(path, sizeof(path), "/proc/%d/cwd", report.pid);
    ssize_t count = readlink(path, target, sizeof(target));
    ck_assert(count == 1 && target[0] == '/');
    /* Not dumpable: what /proc shows of it is root's. */
    snprintf(path, sizeof(path), "/proc/%d/environ", report.pid);
    ck_assert_int_eq(stat(path, &owner), 0);
    ck_assert_uint_eq(owner.st_uid, 0);
    close(session);
    expect_good_end();
}

/* Where nothing is mapped, there is none. */
static bool has_secret(pid_t pid)
{
    char path[64];
    uint8_t byte = 0;
    snprintf(path, sizeof(path), "/proc/%d/mem", pid);
    int fd = open(path, O_RDONLY);
    ck_assert_int_ge(fd, 0);
    ssize_t count = pread(fd, &byte, 1, (off_t)(uintptr_t)report.secret);
    close(fd);
    return count == 1 && byte == SECRET;
}

TEST(the_monitors_secrets_and_descriptors_are_gone)
{
    char path[64];
    struct stat link;
    if (geteuid() != 0 || unit_is_emulated()) {
        return; /* not dumpable: nobody else sees it; and an emulator has other addresses */
    }
    start_well();
    ck_assert(has_secret(monitor));
    ck_assert(!has_secret(report.pid));
    for (int i = 0; i < SESSION_CLOSES; i++) {
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", monitor, report.closes[i]);
        ck_assert_int_eq(lstat(path, &link), 0);
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", report.pid, report.closes[i]);
        ck_assert_int_ne(lstat(path, &link), 0);
    }
    close(session);
    expect_good_end();
}

TEST_EACH(user_that_the_process_can_not_become, 2)
{
    char byte;
    if (_i == 0 && geteuid() == 0) {
        groups.count = -1;
        groups.error = ERANGE;
    } else if (geteuid() == 0) {
        account.gid = (gid_t)-1;
    } else {
        account.uid++;
    }
    start();
    ck_assert_int_eq(report.result, -1);
    ck_assert_int_eq(report.error, _i == 0 && geteuid() == 0 ? ERANGE : EPERM);
    ck_assert_int_eq(report.pid, -1); /* no child is left */
    ck_assert_int_eq(recv(session, &byte, 1, 0), 0);
}

/* ---- the table ------------------------------------------------------------------------------- */

union any {
    uint32_t type;
    struct ipc_pty pty;
    struct ipc_spawn spawn;
    struct ipc_signal signal;
    struct ipc_release release;
    char bytes[IPC_SESSION_REQUEST_BYTES + 64];
};

/* The second copy of the matrix. */
static const struct {
    uint32_t type;
    size_t bytes; /* with the tail of make_good() */
} matrix[] = {
    {IPC_PTY, 8 + sizeof(struct winsize) + sizeof(struct termios)},
    {IPC_SPAWN, 20 + 64 + 7 + 4},
    {IPC_SIGNAL, 12},
    {IPC_RELEASE, 8},
};

#define ROWS (sizeof(matrix) / sizeof(matrix[0]))

static union any make_good(uint32_t type)
{
    static union any good;
    memset(&good, 0, sizeof(good));
    good.type = type;
    if (type == IPC_SPAWN) {
        good.spawn.kind = IPC_SESSION_EXEC;
        good.spawn.environment_bytes = 7;
        good.spawn.command_bytes = 4;
        memcpy(good.bytes + sizeof(good.spawn), "LANG=C\0true", 11);
    } else if (type == IPC_SIGNAL) {
        good.signal.number = SIGTERM;
    }
    return good;
}

TEST_EACH(every_request, ROWS)
{
    union any good = make_good(matrix[_i].type);
    struct ipc_done reply;
    start_well();
    ck_assert_int_eq(ask(&good, matrix[_i].bytes, &reply, sizeof(reply)), sizeof(reply));
    ck_assert_uint_eq(reply.type, matrix[_i].type);
    ck_assert_uint_eq(reply.done, matrix[_i].type != IPC_SIGNAL); /* nothing runs there */
    close(session);
    expect_good_end();
}

TEST_EACH(every_request_of_a_wrong_size, (int)ROWS * 4)
{
    size_t row = (size_t)_i / 4;
    union any good = make_good(matrix[row].type);
    const size_t sizes[] = {matrix[row].bytes - 1, matrix[row].bytes + 1, 4, sizeof(good)};
    start_well();
    assert_fatal(&good, sizes[_i % 4], "request of a wrong size");
}

/* Includes the types that only the monitor serves. */
static const uint32_t unknown_types[] = {0,          IPC_START, IPC_SIGN,  IPC_PROVE,     IPC_AUTH,
                                         IPC_NOTE,   IPC_END,   IPC_TYPES, IPC_TYPES + 1, 255,
                                         0x7fffffff, 0xffffffff};

TEST_EACH(unknown_types_are_fatal, COUNT_OF(unknown_types))
{
    union any request = make_good(unknown_types[_i]);
    start_well();
    assert_fatal(&request, 8, "request of an unknown type");
}

TEST(requests_too_short_for_a_type)
{
    const uint8_t zeros[4] = {0};
    start_well();
    assert_fatal(zeros, 3, "request of an unknown type");
}

TEST(descriptors_with_a_request_are_fatal)
{
    union any good = make_good(IPC_RELEASE);
    start_well();
    send_with_descriptor(session, &good, 8);
    await_end();
    ck_assert_str_eq(report.reason, "request of a wrong size");
}

/* Values out of range, one at a time. */
enum { BAD_VALUES = 5 };

TEST_EACH(values_out_of_range, BAD_VALUES)
{
    static const uint32_t types[BAD_VALUES] = {IPC_SPAWN, IPC_SPAWN, IPC_PTY, IPC_SPAWN,
                                               IPC_SIGNAL};
    static const char *const reasons[BAD_VALUES] = {"wrong size", "kind", "channel out of range",
                                                    "environment", "signal that RFC 4254"};
    union any bad = make_good(types[_i]);
    size_t bytes = 0;
    for (size_t row = 0; row < ROWS; row++) {
        bytes = matrix[row].type == types[_i] ? matrix[row].bytes : bytes;
    }
    switch (_i) {
    case 0:
        bad.spawn.environment_bytes = 0xffffffff; /* the sum wraps to the right size */
        bad.spawn.command_bytes = 12;
        break;
    case 1:
        bad.spawn.kind = 9;
        break;
    case 2:
        bad.pty.channel = LIMIT_CHANNELS;
        break;
    case 3:
        bad.bytes[sizeof(bad.spawn)] = 'l'; /* lANG */
        break;
    default:
        bad.signal.number = SIGSTOP;
    }
    start_well();
    assert_fatal(&bad, bytes, reasons[_i]);
}

TEST(replies_that_nobody_reads)
{
    const union any good = make_good(IPC_RELEASE);
    start_well();
    process_send_until_closed(session, &good, 8);
    await_end();
    assert_contains(report.reason, "does not read its replies");
}

/* ---- programs -------------------------------------------------------------------------------- */

static int spawn(const char *command, int fds[static IPC_REPLY_DESCRIPTORS])
{
    struct process_command request;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * IPC_REPLY_DESCRIPTORS)];
    } control;
    struct ipc_done done;
    struct iovec part = {&done, sizeof(done)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ck_assert_int_gt(send(session, &request, process_command(&request, command), 0), 0);
    ck_assert_int_eq(recvmsg(session, &message, MSG_CMSG_CLOEXEC), sizeof(done));
    ck_assert_uint_eq(done.done, 1);
    size_t count = (control.header.cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(fds, CMSG_DATA(&control.header), count * sizeof(int));
    return (int)count;
}

TEST(session_over_the_socket)
{
    int fds[IPC_REPLY_DESCRIPTORS];
    char out[64];
    struct ipc_exit ended;
    start_well();
    ck_assert_int_eq(spawn("echo hi; exit 9", fds), 4);
    struct pollfd waiting = {.fd = fds[3], .events = POLLIN};
    ck_assert_int_eq(poll(&waiting, 1, 5000), 1);
    ck_assert_int_eq(read(fds[3], &ended, sizeof(ended)), sizeof(ended));
    ck_assert_uint_eq(ended.status, 9);
    ck_assert_int_eq(read(fds[1], out, sizeof(out)), 3);
    close(session);
    expect_good_end();
    assert_contains(said, "channel=5 kind=exec pty=none pid=");
}

/* The process keeps a copy of the grant, whose members it uses one by one. */
TEST(grant_of_the_key)
{
    static const char environment[] = "OWN=of the key";
    int fds[IPC_REPLY_DESCRIPTORS];
    char out[256] = "";
    grant.flags |= GRANT_FORCED | GRANT_CERTIFICATE;
    grant.serial = 17;
    strcpy(grant.key_id, "alice");
    memset(grant.fingerprint, 0xff, sizeof(grant.fingerprint));
    grant.environment_bytes = sizeof(environment);
    memcpy(grant.environment, environment, sizeof(environment));
    grant.command_bytes =
        (uint32_t)snprintf(grant.command, sizeof(grant.command), "echo \"$OWN $SSH_USER_KEY\"");
    start_well();
    ck_assert_int_eq(spawn("echo of the client", fds), 4);
    struct pollfd waiting = {.fd = fds[3], .events = POLLIN};
    ck_assert_int_eq(poll(&waiting, 1, 5000), 1);
    ck_assert_int_gt(read(fds[1], out, sizeof(out) - 1), 0);
    ck_assert_str_eq(out, "of the key publickey ssh-ed25519-cert-v01@openssh.com "
                          "SHA256://////////////////////////////////////////8 serial=17 "
                          "ca=SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA id=alice\n");
    close(session);
    expect_good_end();
}

/* By then the idle session process has given memory back; the next request must still work. */
TEST(session_after_a_rest)
{
    int fds[IPC_REPLY_DESCRIPTORS];
    struct ipc_exit ended;
    const struct ipc_release release = {IPC_RELEASE, 5};
    struct ipc_done reply;
    start_well();
    for (int i = 0; i < 3; i++) {
        usleep(2 * LIMIT_REST_MS * 1000);
        ck_assert_int_eq(spawn("exit 3", fds), 4);
        usleep(2 * LIMIT_REST_MS * 1000);
        struct pollfd waiting = {.fd = fds[3], .events = POLLIN};
        ck_assert_int_eq(poll(&waiting, 1, 5000), 1);
        ck_assert_int_eq(read(fds[3], &ended, sizeof(ended)), sizeof(ended));
        ck_assert_uint_eq(ended.status, 3);
        ck_assert_int_eq(ask(&release, sizeof(release), &reply, sizeof(reply)), sizeof(reply));
    }
    close(session);
    expect_good_end();
}

/* A command may run on after its client has left: nothing kills it, and it delays no exit. */
TEST(programs_outlive_the_connection)
{
    int fds[IPC_REPLY_DESCRIPTORS];
    char byte;
    start_well();
    ck_assert_int_eq(spawn("exec 2>&-; echo; read line; echo", fds), 4);
    struct pollfd waiting = {.fd = fds[1], .events = POLLIN};
    /* qemu-user's vfork() does not wait for exec; until then the child ends with its parent. */
    ck_assert_int_eq(poll(&waiting, 1, 5000), 1);
    ck_assert_int_eq(read(fds[1], &byte, 1), 1);
    close(session);
    expect_good_end();
    ck_assert_int_eq(write(fds[0], "\n", 1), 1);
    ck_assert_int_eq(poll(&waiting, 1, 5000), 1);
    ck_assert_int_eq(read(fds[1], &byte, 1), 1);
}

/* Programs inherit only their pipes from the session process. */
TEST(programs_have_no_descriptor_of_ours)
{
    int fds[IPC_REPLY_DESCRIPTORS];
    char out[256] = "";
    start_well();
    ck_assert_int_eq(spawn("for fd in /proc/self/fd/*; do printf %s, ${fd##*/}; done", fds), 4);
    struct pollfd waiting = {.fd = fds[3], .events = POLLIN};
    ck_assert_int_eq(poll(&waiting, 1, 5000), 1);
    ck_assert_int_gt(read(fds[1], out, sizeof(out) - 1), 0);
    assert_contains(out, "0,1,2,");
    assert_lacks(out, ",4,");
    close(session);
    expect_good_end();
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Also if the user has stopped it: the kernel sends SIGKILL. */
TEST_EACH(the_process_ends_with_the_monitor, 2)
{
    int status;
    start_well();
    if (_i == 1) {
        ck_assert_int_eq(kill(report.pid, SIGSTOP), 0);
    }
    ck_assert_int_eq(kill(monitor, SIGKILL), 0);
    ck_assert_int_eq(waitpid(monitor, &status, 0), monitor);
    if (_i == 1) {
        kill(report.pid, SIGCONT);
    }
    ck_assert(process_hangs_up(session));
}

static bool is_alive(pid_t pid)
{
    char path[64], line[512] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    bool read = fgets(line, sizeof(line), file) != NULL;
    fclose(file);
    const char *behind = strrchr(line, ')');
    return read && behind != NULL && behind[2] != 'Z' && behind[2] != 'X';
}

/* The shell's file has a lease on it, so the exec waits as it does for a dead file system. */
TEST(the_process_ends_with_the_monitor_while_a_program_starts)
{
    union any good = make_good(IPC_SPAWN);
    signal(SIGIO, SIG_IGN); /* the kernel's request to give up the lease */
    scratch_write(home, "shell", "#!/bin/sh\n", 10, 0755);
    snprintf(account.shell, sizeof(account.shell), "%s/shell", home);
    int held = open(account.shell, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(held, 0);
    if (fcntl(held, F_SETLEASE, F_WRLCK) != 0) {
        return; /* not on this file system */
    }
    start_well();
    ck_assert_int_eq(send(session, &good, matrix[1].bytes, 0), (ssize_t)matrix[1].bytes);
    struct pollfd waiting = {.fd = session, .events = POLLIN};
    if (poll(&waiting, 1, 300) != 0) {
        return; /* in this build the start does not wait for the exec: child_forked.c */
    }
    ck_assert(is_alive(report.pid));
    ck_assert_int_eq(kill(monitor, SIGKILL), 0);
    for (int turn = 0; turn < 500 && is_alive(report.pid); turn++) {
        usleep(20000);
    }
    ck_assert(!is_alive(report.pid));
    close(held);
}

TEST(reason_does_not_wait)
{
    start_well();
    ask_monitor('w');
    ck_assert_str_eq(report.reason, "");
    close(session);
    expect_good_end();
}

TEST(the_process_is_killed)
{
    start_well();
    ck_assert_int_eq(kill(report.pid, SIGKILL), 0);
    await_end();
    ck_assert(WIFSIGNALED(report.status) && WTERMSIG(report.status) == SIGKILL);
    ck_assert_str_eq(report.reason, "");
}
