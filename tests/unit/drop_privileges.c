/*
 * Calls drop_privileges() as a login does, then makes each system call in a process of its own,
 * under the monitor's list. Sanitizer builds leave this test out: the filter would kill their
 * runtimes.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sodium.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/un.h>
#include <time.h>

#include "calls.h"
#include "ipc.h"
#include "log.h"
#include "monitor_internal.h"
#include "people.h"
#include "process.h"
#include "scratch.h"
#include "unit.h"

enum { CONNECTION = 10, SPARE = 11 };

static struct options options;
static struct peer peer;
static const struct identity unprivileged = {.uid = 65534, .gid = 65534};
static struct oom oom = {.fd = -1};
static struct admission admission;
static struct monitor_setup setup = {.options = &options,
                                     .peer = &peer,
                                     .identity = &unprivileged,
                                     .oom = &oom,
                                     .admission = &admission,
                                     .ipc = IPC_DESCRIPTOR,
                                     .connection = CONNECTION};
static struct monitor_memory memory;
static struct monitor *const monitor = &memory.monitor;
static void *page;

static void place(int fd, int number)
{
    if (fd < 0 || dup2(fd, number) != number) {
        _exit(98);
    }
}

/* Plays the network process: has the uid that the monitor will have, and waits for SIGKILL. */
static pid_t start_network(void)
{
    int ready[2];
    char byte;
    if (pipe2(ready, O_CLOEXEC) != 0) {
        _exit(96);
    }
    pid_t pid = fork();
    if (pid == 0) {
        if ((geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) ||
            write(ready[1], "r", 1) != 1) {
            _exit(1);
        }
        for (;;) {
            pause();
        }
    }
    /* Before its change of uid the monitor might not kill it. */
    if (read(ready[0], &byte, 1) != 1) {
        _exit(96);
    }
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void set_up_monitor(void)
{
    int ipc[2], session[2], connection[2], spare[2];
    sigset_t child;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ipc) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, session) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, connection) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, spare) != 0 ||
        write(ipc[1], "xyz", 3) != 3) {
        _exit(99);
    }
    const int parts[] = {ipc[0], session[0], connection[0], spare[0], ipc[1], session[1]};
    for (int i = 0; i < 6; i++) {
        place(parts[i], 40 + i);
    }
    place(40, IPC_DESCRIPTOR);
    place(41, SESSION_DESCRIPTOR);
    close(41); /* the session process alone keeps it */
    place(42, CONNECTION);
    place(43, SPARE);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    log_open(options.syslog, LOG_EVENT);
    admission.fd = fcntl(memfd_create("slots", MFD_CLOEXEC), F_DUPFD_CLOEXEC, 50);
    monitor->setup = &setup;
    monitor->signals = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    setup.network = start_network();
    monitor->as_root = geteuid() == 0;
    monitor->hostkey = secret_new(sizeof(*monitor->hostkey));
    monitor->deadline_ms = INT64_MAX;
    page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void set_up(void)
{
    static struct authkeys_account account;
    static struct grant grant;
    set_up_monitor();
    account.account.uid = geteuid();
    account.account.gid = getegid();
    const char *wrong = drop_privileges(monitor, &account, &grant);
    if (wrong != NULL) {
        _exit(strstr(wrong, "seccomp") != NULL ? CALLS_NO_FILTER : 97);
    }
}

/* ---- allowed --------------------------------------------------------------------------------- */

static void requests_are_answered(void)
{
    char bytes[8];
    struct iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct pollfd waiting = {.fd = IPC_DESCRIPTOR, .events = POLLIN};
    call_need(poll(&waiting, 1, 1000) == 1);
    call_need(recvmsg(IPC_DESCRIPTOR, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) == 3);
    call_need(sendmsg(IPC_DESCRIPTOR, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 8);
}

static void lines_are_logged(void)
{
    log_trouble("a test", NULL, "of the monitor's list");
}

static void the_network_process_is_killed_and_reaped(void)
{
    struct signalfd_siginfo signal;
    struct pollfd waiting = {.fd = monitor->signals, .events = POLLIN};
    int status;
    call_need(kill(setup.network, SIGKILL) == 0);
    call_need(poll(&waiting, 1, 5000) == 1);
    call_need(read(monitor->signals, &signal, sizeof(signal)) == sizeof(signal));
    /* The signal may be of the session process, which has ended too. */
    call_need(waitpid(setup.network, &status, 0) == setup.network);
    call_need(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void the_session_process_is_heard(void)
{
    char words[LIMIT_NOTE_BYTES + 1];
    session_process_reason(&monitor->session, words);
    call_need(words[0] == '\0');
}

static void the_connection_is_counted_and_shut_down(void)
{
    uint64_t in, out;
    call_need(!tcp_bytes(&in, &out, CONNECTION)); /* it is no TCP socket here */
    call_need(shutdown(CONNECTION, SHUT_RDWR) == 0);
    call_need(shutdown(IPC_DESCRIPTOR, SHUT_WR) == 0);
    call_need(close(CONNECTION) == 0);
}

static void memory_is_given_back(void)
{
    *(char *)page = 'x';
    memory_give_back(page, (size_t)sysconf(_SC_PAGESIZE));
}

static void time_passes(void)
{
    struct timespec now;
    struct pollfd nothing = {.fd = -1};
    call_need(ppoll(&nothing, 1, &(struct timespec){.tv_nsec = 1000}, NULL) == 0);
#ifdef SYS_clock_gettime
    call_need(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) == 0);
#endif
    call_need(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
}

static void (*const allowed[])(void) = {
    requests_are_answered,
    lines_are_logged,
    the_network_process_is_killed_and_reaped,
    the_session_process_is_heard,
    the_connection_is_counted_and_shut_down,
    memory_is_given_back,
    time_passes,
};

static void (*act)(void);

static void drop_and_act(void)
{
    set_up();
    act();
}

UNIT_NEEDS(people_have_seccomp(), "there are no seccomp filters here");
UNIT_TIMEOUT(60);

TEST_EACH(allowed_calls_work, COUNT_OF(allowed))
{
    act = allowed[_i];
    int status = call_end_of(drop_and_act);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %#x",
                  (unsigned)status);
}

/* ---- forbidden ------------------------------------------------------------------------------- */

static const struct call forbidden[] = {
    {"sendmsg on another", SYS_sendmsg, {SPARE}},
    {"recvmsg on another", SYS_recvmsg, {SPARE}},
    {"sendmsg to the session process", SYS_sendmsg, {SESSION_DESCRIPTOR}},
    {"socket of syslog without -l", SYS_socket, {AF_UNIX, SOCK_DGRAM}},
    {"connect without -l", SYS_connect, {SPARE}},
    {"kill of init", SYS_kill, {1, SIGKILL}},
    {"kill of all", SYS_kill, {-1, 0}},
    {"shutdown of another", SYS_shutdown, {SPARE, SHUT_WR}},
    {"getsockopt SO_TYPE", SYS_getsockopt, {CONNECTION, SOL_SOCKET, SO_TYPE}},
    {"munmap", SYS_munmap, {0}},
    {"madvise MADV_WIPEONFORK", SYS_madvise, {0, 0, 18}},
    {"fcntl F_GETFL", SYS_fcntl, {0, F_GETFL}},
    {"brk", SYS_brk, {0}},
    {"getrandom", SYS_getrandom, {0}},
    {"setitimer", SYS_setitimer, {0}},
    {"dup", SYS_dup, {0}},
    {"pipe2", SYS_pipe2, {0}},
    {"readv", SYS_readv, {0}},
};

static const struct call *call;

static void make_call(void)
{
    call_make(call);
}

TEST_EACH(forbidden_calls_kill, CALLS_OF_NOBODY + COUNT_OF(forbidden))
{
    call = _i < CALLS_OF_NOBODY ? &calls_of_nobody[_i] : &forbidden[_i - CALLS_OF_NOBODY];
    act = make_call;
    call_expect_kill(call_end_of(drop_and_act), SIGSYS, call->name);
}

/* The only signal that the monitor may send to the network process is SIGKILL. */
static void stop_the_network_process(void)
{
    syscall(SYS_kill, setup.network, SIGSTOP);
}

TEST(other_signals_kill)
{
    act = stop_the_network_process;
    call_expect_kill(call_end_of(drop_and_act), SIGSYS, "SIGSTOP");
}

/* With -l the monitor can connect to a restarted syslog, and to nothing else. This program's own
 * connect() leads from /dev/log to a socket of the test, once that is there. */
static struct sockaddr_un collector = {.sun_family = AF_UNIX};
static socklen_t collector_bytes = sizeof(collector.sun_family); /* the kernel chooses the rest */
static bool is_there;

int connect(int fd, const struct sockaddr *address, socklen_t bytes)
{
    (void)address;
    (void)bytes;
    if (!is_there) {
        errno = ENOENT;
        return -1;
    }
    return (int)syscall(SYS_connect, fd, &collector, collector_bytes);
}

static int make_collector(void)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr *address = (struct sockaddr *)&collector;
    ck_assert_int_eq(bind(fd, address, collector_bytes), 0);
    collector_bytes = sizeof(collector);
    ck_assert_int_eq(getsockname(fd, address, &collector_bytes), 0);
    return fd;
}

static void log_to_the_collector(void)
{
    is_there = true;
    log_trouble("a test", NULL, "of a collector");
}

static void make_an_internet_socket(void)
{
    syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
}

TEST(syslog_can_be_reached)
{
    char line[512];
    int fd = make_collector();
    options.syslog = true;
    act = log_to_the_collector;
    int status = call_end_of(drop_and_act);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %#x",
                  (unsigned)status);
    ssize_t bytes = recv(fd, line, sizeof(line), 0);
    ck_assert_ptr_nonnull(memmem(line, bytes > 0 ? (size_t)bytes : 0, "a collector", 11));
    act = make_an_internet_socket;
    call_expect_kill(call_end_of(drop_and_act), SIGSYS, "socket AF_INET with -l");
}

/* ---- rights ---------------------------------------------------------------------------------- */

static void look_at_itself(void)
{
    set_up_monitor();
    static struct authkeys_account account;
    static struct grant grant;
    account.account.uid = geteuid();
    account.account.gid = getegid();
    options.best_effort = true;
    bool as_root = geteuid() == 0;
    /* /proc must be opened before the filter is installed. */
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    static char text[4096];
    if (drop_privileges(monitor, &account, &grant) != NULL) {
        _exit(96);
    }
    call_need(read(fd, text, sizeof(text) - 1) > 0);
    call_need(strstr(text, "NoNewPrivs:\t1\n") != NULL);
    call_need(strstr(text, "Seccomp:\t2\n") != NULL);
    call_need(strstr(text, "CapInh:\t0000000000000000\n") != NULL);
    call_need(strstr(text, "CapPrm:\t0000000000000000\n") != NULL);
    call_need(strstr(text, "CapEff:\t0000000000000000\n") != NULL);
    call_need(!as_root || strstr(text, "Uid:\t65534\t65534\t65534\t65534\n") != NULL);
    call_need(!as_root || strstr(text, "Gid:\t65534\t65534\t65534\t65534\n") != NULL);
    call_need(!as_root || strstr(text, "Groups:\t \n") != NULL);
    /* Only the session process keeps its end of its socket. */
    call_need(read(SESSION_DESCRIPTOR, text, 1) == -1);
    /* The table of slots is root's. */
    call_need(admission.fd == -1);
}

TEST(every_right_is_given_up)
{
    int status = call_end_of(look_at_itself);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %#x",
                  (unsigned)status);
}
