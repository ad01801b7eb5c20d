/*
 * Covers authkeys_child.c up to the parsing: this file replaces authkeys_search() and acts there as
 * a hostile parser would, without the child's rights. people.h replaces account_find.c. Sanitizer
 * builds leave this test out: the filter would kill their runtimes.
 */
#include "monitor_internal.h"

#include <sodium.h>
#include <string.h>
#include <time.h>

#include "calls.h"
#include "ipc.h"
#include "people.h"
#include "proc.h"
#include "process.h"
#include "scratch.h"
#include "seccomp.h"
#include "unit.h"

static char scratch[SCRATCH_BYTES];
static const struct identity unprivileged = {.uid = 65534, .gid = 65534};
static struct hostkey *hostkey;
static int answer[2];
static void (*action)(void);
static const struct authkeys_files *opened;

void authkeys_search(struct authkeys_verdict *verdict, const struct authkeys_query *query,
                     const struct account *account, const struct authkeys_files *files)
{
    (void)query;
    opened = files;
    action();
    memset(verdict, 0, sizeof(*verdict));
    verdict->reason = AUTHKEYS_GOOD;
    snprintf(verdict->path, sizeof(verdict->path), "%s", account->user);
}

/* The signal that the child gets when the monitor ends, as of the moment when it opens the user's
 * files. In shared memory. */
static int *end_signal;

void __real_authkeys_open_users(struct authkeys_files *, const struct authkeys_query *,
                                const struct account *);
void __wrap_authkeys_open_users(struct authkeys_files *, const struct authkeys_query *,
                                const struct account *);

void __wrap_authkeys_open_users(struct authkeys_files *files, const struct authkeys_query *query,
                                const struct account *account)
{
    prctl(PR_GET_PDEATHSIG, end_signal);
    __real_authkeys_open_users(files, query, account);
}

static void begin(void)
{
    end_signal =
        mmap(NULL, sizeof(*end_signal), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(end_signal, MAP_FAILED);
    scratch_make(scratch);
    people_begin(scratch);
    scratch_write(scratch, "keys", "a line\n", 7, 0600);
    scratch_write(scratch, "authorities", "an authority\n", 13, 0400);
    setenv("CREDENTIALS_DIRECTORY", scratch, 1);
    scratch_write(scratch, "for.alice", "of a credential\n", 16, 0400);
    hostkey = secret_new(sizeof(*hostkey));
    ck_assert_ptr_nonnull(hostkey);
    ck_assert_int_eq(pipe(answer), 0);
}

static void run_child(void)
{
    static char authorities[2 * SCRATCH_BYTES];
    snprintf(authorities, sizeof(authorities), "%s/authorities", scratch);
    static const struct options options;
    const struct monitor_setup setup = {.options = &options, .identity = &unprivileged};
    const struct authkeys_request request = {
        .query = {.user = "alice",
                  .patterns = {"keys", "credential:for.%u"},
                  .ca_path = authorities,
                  .key_type = IPC_KEY_ED25519},
        .search = authkeys_search,
        .setup = &setup,
        .hostkey = hostkey,
        .monitor = getppid(),
    };
    authkeys_child(&request, answer[1]);
}

/* In a container, or a unit with SystemCallFilter=, there is a filter and strict mode is refused.
 */
static void run_child_below_a_filter(void)
{
    const struct bpf_instruction allow = {.code = BPF_RETURN, .k = SECCOMP_RET_ALLOW};
    const struct bpf_program program = {.length = 1, .instructions = &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    call_need(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0);
    run_child();
}

/* Reads both parts of the answer. */
static void expect_answer(void)
{
    static struct authkeys_account account;
    static struct authkeys_verdict verdict;
    ck_assert_int_eq(read(answer[0], &account, sizeof(account)), sizeof(account));
    ck_assert_int_eq(read(answer[0], &verdict, sizeof(verdict)), sizeof(verdict));
    ck_assert_str_eq(account.account.user, "alice");
    ck_assert_uint_eq(account.reason, ACCOUNT_GOOD);
    ck_assert_uint_eq(verdict.reason, AUTHKEYS_GOOD);
    ck_assert_str_eq(verdict.path, "alice");
}

/* ---- allowed --------------------------------------------------------------------------------- */

static void read_both_files(void)
{
    char bytes[32];
    call_need(read(opened->users[0].fd, bytes, sizeof(bytes)) == 7);
    call_need(read(opened->authorities.fd, bytes, sizeof(bytes)) == 13);
    call_need(read(opened->users[1].fd, bytes, sizeof(bytes)) == 16);
    call_need(opened->users[2].path == NULL && opened->revoked.fd == -1);
}

UNIT_NEEDS(people_have_seccomp(), "there are no seccomp filters here");
UNIT_FIXTURE(begin, NULL);
UNIT_TIMEOUT(60);

TEST_EACH(files_are_read, 2)
{
    action = read_both_files;
    int status = call_end_of(_i == 0 ? run_child : run_child_below_a_filter);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %#x",
                  (unsigned)status);
    expect_answer();
}

static void become_nobody(struct account *account, struct account_groups *groups)
{
    (void)groups;
    account->uid = unprivileged.uid;
    account->gid = unprivileged.gid;
}

/* A credential is opened as root, before the child takes the user's rights. */
static void read_credential(void)
{
    char bytes[32];
    call_need(opened->users[0].fd == -1 && opened->users[0].reason == AUTHKEYS_UNREADABLE);
    call_need(read(opened->users[1].fd, bytes, sizeof(bytes)) == 16);
}

TEST(credentials_are_opened_as_root)
{
    if (geteuid() != 0) {
        return;
    }
    people->change_account = become_nobody;
    action = read_credential;
    ck_assert_int_eq(call_end_of(run_child), 0);
    expect_answer();
}

/* Rules, of which the second is longer than musl's buffer for it, then files: each was read before
 * the child was confined. */
static const struct {
    const char *name;
    bool is_rule;
} zones[] = {{"XXX-3:30", true},
             {"<+0330>-3:30<+0430>,J79/24,J263/24", true},
             {":/etc/localtime", false},
             {"Nowhere/Nothing", false}};

static bool is_rule;

static void convert_a_date(void)
{
    struct tm date = {.tm_year = 130, .tm_mday = 2, .tm_isdst = -1};
    time_t found = mktime(&date);
    call_need(is_rule ? found == 1893542400 - 12600 : found > 0);
}

TEST_EACH(times_of_the_zone, COUNT_OF(zones))
{
    ck_assert_int_eq(setenv("TZ", zones[_i].name, 1), 0);
    is_rule = zones[_i].is_rule;
    action = convert_a_date;
    ck_assert_int_eq(call_end_of(run_child), 0);
    expect_answer();
}

/* ---- forbidden ------------------------------------------------------------------------------- */

static const struct call *call;

static const struct call forbidden[] = {
    {"writev", SYS_writev, {3}},
    {"close", SYS_close, {3}},
    {"fcntl F_DUPFD", SYS_fcntl, {0, F_DUPFD_CLOEXEC}},
    {"recvmsg", SYS_recvmsg, {3}},
    {"sendmsg", SYS_sendmsg, {3}},
    {"sendto", SYS_sendto, {3}},
    {"connect", SYS_connect, {3}},
    {"brk", SYS_brk, {0}},
    {"munmap", SYS_munmap, {0}},
    {"madvise", SYS_madvise, {0, 0, MADV_DONTNEED}},
    {"getpid", SYS_getpid, {0}},
    {"lseek", SYS_lseek, {0}},
    {"wait4", SYS_wait4, {0}},
    {"getrandom", SYS_getrandom, {0}},
    {"exit_group", SYS_exit_group, {0}},
};

#define CALLS (CALLS_OF_NOBODY + (int)(sizeof(forbidden) / sizeof(forbidden[0])))

static void make_call(void)
{
    call_make(call);
}

TEST_EACH(forbidden_calls_kill, 2 * CALLS)
{
    bool filtered = _i >= CALLS;
    int number = _i % CALLS;
    call =
        number < CALLS_OF_NOBODY ? &calls_of_nobody[number] : &forbidden[number - CALLS_OF_NOBODY];
    action = make_call;
    call_expect_kill(call_end_of(filtered ? run_child_below_a_filter : run_child),
                     filtered ? SIGSYS : SIGKILL, call->name);
}

static void write_to_the_log(void)
{
    call_need(write(STDERR_FILENO, "forged", 6) == 6);
}

TEST(log_is_out_of_reach)
{
    int log[2];
    char byte;
    ck_assert_int_eq(pipe2(log, O_NONBLOCK), 0);
    action = write_to_the_log;
    pid_t child = fork();
    if (child == 0) {
        dup2(open("/dev/null", O_RDWR), STDIN_FILENO);
        dup2(log[1], STDERR_FILENO);
        run_child();
    }
    int status;
    close(log[1]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(read(log[0], &byte, 1), 0);
}

/* ---- rights ---------------------------------------------------------------------------------- */

/* Waits, without rights, until the test has looked at the process. */
static void wait_for_the_test(void)
{
    char byte;
    call_need(read(STDIN_FILENO, &byte, 1) == 1);
}

/* As some launchers do: a change of uid does not clear inheritable capabilities. */
static void make_inheritable(void)
{
    struct capability_header header = {.version = CAPABILITY_VERSION_3};
    struct capability_data data[2];
    if (syscall(SYS_capget, &header, data) == 0) {
        data[0].inheritable = data[0].permitted;
        syscall(SYS_capset, &header, data);
    }
}

/* Limits that the test inherits may be lower. */
static void expect_limits(pid_t child)
{
    static const struct {
        const char *name;
        unsigned long most;
    } limits[] = {
        {"Max cpu time", LIMIT_AUTHKEYS_CPU_SECONDS + 1}, /* SIGKILL, a second after SIGXCPU */
        {"Max file size", 0},
        {"Max processes", 0},
        {"Max open files", 0},
        {"Max core file size", 0}};
    char found[256];
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        unsigned long soft, hard;
        proc_limit(found, child, limits[i].name);
        ck_assert_msg(sscanf(found, "%lu %lu", &soft, &hard) == 2 && soft <= limits[i].most &&
                          hard <= limits[i].most,
                      "%s%s", limits[i].name, found);
    }
}

TEST(every_right_is_given_up)
{
    static const char *const lines[][2] = {
        {"NoNewPrivs:", "\t1\n"},
        {"Seccomp:", "\t1\n"},
        {"CapInh:", "\t0000000000000000\n"},
        {"CapPrm:", "\t0000000000000000\n"},
        {"CapEff:", "\t0000000000000000\n"},
        {"Uid:", "\t65534\t65534\t65534\t65534\n"},
        {"Gid:", "\t65534\t65534\t65534\t65534\n"},
        {"Groups:", "\t \n"},
    };
    int gate[2];
    char found[256];
    static struct authkeys_account account;
    ck_assert_int_eq(pipe(gate), 0);
    action = wait_for_the_test;
    pid_t child = fork();
    if (child == 0) {
        dup2(gate[0], STDIN_FILENO);
        make_inheritable();
        run_child();
    }
    ck_assert_int_eq(read(answer[0], &account, sizeof(account)), sizeof(account));
    size_t count = geteuid() == 0 ? 8 : 5;
    for (int turn = 0; turn < 500;
         turn++) { /* it gives up its rights after sending the first part */
        proc_status(found, child, "Seccomp:");
        if (strcmp(found, "\t1\n") == 0) {
            break;
        }
        usleep(10000);
    }
    for (size_t i = 0; i < count; i++) {
        proc_status(found, child, lines[i][0]);
        ck_assert_msg(strcmp(found, lines[i][1]) == 0, "%s%s", lines[i][0], found);
    }
    expect_limits(child);
    ck_assert_int_eq(write(gate[1], "g", 1), 1);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

/* ---- the monitor's end ----------------------------------------------------------------------- */

static void do_nothing(void)
{
}

/* The kernel forgets the signal when root's child takes on the user's id. */
TEST(ends_with_the_monitor_while_it_opens_files)
{
    if (geteuid() == 0) {
        people->change_account = become_nobody;
    }
    action = do_nothing;
    ck_assert_int_eq(call_end_of(run_child), 0);
    ck_assert_int_eq(*end_signal, SIGKILL);
}

static void report_and_wait(void)
{
    call_need(write(3, "r", 1) == 1);
    wait_for_the_test();
}

/* And again when it gives up root's id. A child that outlives the monitor reads the gate's byte,
 * and answers. */
TEST(ends_with_the_monitor_while_it_parses)
{
    int gate[2];
    char byte;
    static struct authkeys_account account;
    ck_assert_int_eq(pipe(gate), 0);
    action = report_and_wait;
    pid_t monitor = fork();
    if (monitor == 0) {
        if (fork() == 0) {
            dup2(gate[0], STDIN_FILENO);
            run_child();
        }
        pause();
    }
    close(answer[1]);
    ck_assert_int_eq(read(answer[0], &account, sizeof(account)), sizeof(account));
    ck_assert_int_eq(read(answer[0], &byte, 1), 1);
    ck_assert_int_eq(kill(monitor, SIGKILL), 0);
    ck_assert_int_eq(waitpid(monitor, NULL, 0), monitor);
    ck_assert_int_eq(write(gate[1], "g", 1), 1);
    ck_assert_int_eq(read(answer[0], &byte, 1), 0);
}

/* How many more calls for the signal come before the one at which the monitor ends; -1: none. */
static int calls_before_gap = -1;
static int *monitor_may_end; /* in shared memory */

int __real_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int __wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);

int __wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    if (option == PR_SET_PDEATHSIG && calls_before_gap-- == 0) {
        pid_t monitor = getppid();
        *monitor_may_end = 1;
        while (getppid() == monitor) {
            usleep(1000);
        }
    }
    return __real_prctl(option, a, b, c, d);
}

/* The monitor ends between the fork, or a change of uid, and the call. Then no signal comes. */
TEST_EACH(monitor_has_ended_before, 3)
{
    int status;
    action = do_nothing;
    monitor_may_end = mmap(NULL, sizeof(*monitor_may_end), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(monitor_may_end, MAP_FAILED);
    if (geteuid() == 0) {
        people->change_account = become_nobody;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
    pid_t monitor = fork();
    if (monitor == 0) {
        calls_before_gap = _i;
        if (fork() == 0) {
            run_child();
        }
        while (*monitor_may_end == 0) {
            usleep(1000);
        }
        _exit(0);
    }
    ck_assert_int_eq(waitpid(monitor, NULL, 0), monitor);
    ck_assert_int_gt(wait(&status), 0);
    /* A change of uid cancels the signal. Where there was none, the one of an earlier call comes.
     */
    bool has_signal = geteuid() != 0 && _i > 0;
    ck_assert_msg((WIFEXITED(status) && WEXITSTATUS(status) == 1) ||
                      (has_signal && WIFSIGNALED(status)),
                  "wait status %#x", (unsigned)status);
    ck_assert_uint_eq(people->lookups, _i > 0);
    ck_assert_int_eq(*end_signal != 0, _i > 1); /* whether it has opened the user's files */
}
