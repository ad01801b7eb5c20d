#include "monitor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "confine.h"
#include "descriptors.h"
#include "entropy.h"
#include "exits.h"
#include "log.h"
#include "memory.h"
#include "monitor_requests.h"
#include "monitor_state.h"
#include "secret.h"
#include "status.h"
#include "tcp_bytes.h"

static void decide(struct ending *ending, int status, const char *reason)
{
    if (!ending->decided) {
        ending->decided = true;
        ending->status = status;
        snprintf(ending->reason, sizeof(ending->reason), "%s", reason);
    }
}

void monitor_end(struct monitor *monitor, int status, const char *reason)
{
    decide(&monitor->ending, status, reason);
    monitor->phase = MONITOR_OVER;
}

/* Once it has been reaped its number may be another process's. */
static void kill_network(const struct monitor *monitor)
{
    if (!monitor->network_gone) {
        kill(monitor->network, SIGKILL);
    }
}

void monitor_fail(struct monitor *monitor, const char *reason)
{
    monitor_end(monitor, EXIT_TROUBLE, reason);
    kill_network(monitor);
}

/* ---- reaping --------------------------------------------------------------------------------- */

static void decide_by_exit(struct monitor *monitor)
{
    char reason[LIMIT_NOTE_BYTES + 1];
    int status = monitor->network_status;
    if (WIFSIGNALED(status)) {
        snprintf(reason, sizeof(reason), "network process killed by signal %d%s", WTERMSIG(status),
                 WTERMSIG(status) == SIGSYS ? " (seccomp?)" : "");
    } else if (WEXITSTATUS(status) == ENTROPY_EXIT) {
        snprintf(reason, sizeof(reason), "network process got no random numbers");
    } else {
        snprintf(reason, sizeof(reason), "network process exited with status %d and gave no reason",
                 WEXITSTATUS(status));
    }
    decide(&monitor->ending, EXIT_TROUBLE, reason);
}

/* More than a socket holds at the system's default, some hundred. */
#define DRAINED_MOST 1024

/* Serves what is there, and not what a hostile network process adds for as long as it is served. */
static void drain(struct monitor *monitor, union monitor_request *request)
{
    unsigned left = DRAINED_MOST;
    while (left > 0 && monitor->phase != MONITOR_OVER && monitor_requests_serve(monitor, request)) {
        left--;
    }
}

/* It ends by itself, with status 0, once the network process has closed its socket: then that one's
 * end is the reason. */
static void judge_session(struct monitor *monitor, int status)
{
    char words[LIMIT_NOTE_BYTES + 1];
    char reason[LIMIT_NOTE_BYTES + 1];
    session_process_reason(&monitor->session, words);
    monitor->session.pid = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        monitor->phase = MONITOR_OVER;
        return;
    }
    if (words[0] != '\0') {
        monitor_fail(monitor, words);
    } else if (WIFSIGNALED(status)) {
        snprintf(reason, sizeof(reason), "session process killed by signal %d", WTERMSIG(status));
        monitor_end(monitor, EXIT_TROUBLE, reason);
    } else {
        snprintf(reason, sizeof(reason), "session process exited with status %d",
                 WEXITSTATUS(status));
        monitor_end(monitor, EXIT_TROUBLE, reason);
    }
}

/* Reaps the other processes, and children that read keys. Before the session process's end is
 * judged the network process's requests count: its END may be among them. */
static void reap(struct monitor *monitor, union monitor_request *request)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == monitor->network) {
            monitor->network_gone = true;
            monitor->network_status = status;
        } else if (pid == monitor->session.pid) {
            drain(monitor, request);
            judge_session(monitor, status);
        }
    }
}

/* A launcher or a person wants us to end: the network process sees our side of its socket closed,
 * takes leave of the client and exits. */
static void end_by_signal(struct monitor *monitor, unsigned number)
{
    char reason[64];
    snprintf(reason, sizeof(reason), "ended by signal %u", number);
    monitor_end(monitor, 0, reason);
    shutdown(monitor->ipc, SHUT_WR);
}

static void take_signal(struct monitor *monitor, union monitor_request *request)
{
    struct signalfd_siginfo signal;
    while (read(monitor->signals, &signal, sizeof(signal)) == (ssize_t)sizeof(signal)) {
        if (signal.ssi_signo != SIGCHLD) {
            end_by_signal(monitor, signal.ssi_signo);
        }
    }
    reap(monitor, request);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void deadline_passed(struct monitor *monitor)
{
    char reason[64];
    snprintf(reason, sizeof(reason), "login deadline of %u s", monitor->options->login_seconds);
    monitor_end(monitor, 0, reason);
    kill_network(monitor);
}

/* What the login has left behind: a logged-in user's monitor may have nothing to do for days. */
static void rest(struct monitor_spare *spare)
{
    memory_give_back(spare, sizeof(*spare));
    memory_give_back_stack();
}

static void turn(struct monitor *monitor)
{
    struct monitor_spare *spare = monitor->spare;
    struct pollfd waiting[] = {{.fd = monitor->ipc, .events = POLLIN},
                               {.fd = monitor->signals, .events = POLLIN}};
    int timeout = monitor->deadline_ms == INT64_MAX ? -1 : clock_timeout_ms(monitor->deadline_ms);
    bool rests = monitor->phase == MONITOR_AFTER_LOGIN && !monitor->rested;
    int ready = poll(waiting, 2, rests ? LIMIT_REST_MS : timeout);
    monitor->rested = ready == 0;
    if (ready == 0 && rests) {
        rest(spare);
        return;
    }
    if (ready < 0 && errno != EINTR) {
        monitor_fail(monitor, "poll failed");
        return;
    }
    if (clock_now_ms() >= monitor->deadline_ms) {
        deadline_passed(monitor);
        return;
    }
    if (ready > 0 && waiting[0].revents != 0) {
        monitor_requests_serve(monitor, &spare->request);
    }
    /* Whatever requests wait: each may have left a child. */
    if (ready > 0 && waiting[1].revents != 0) {
        take_signal(monitor, &spare->request);
    }
    if (monitor->network_gone) {
        /* END may have arrived after poll() returned: it counts before the exit behind it. */
        drain(monitor, &spare->request);
        monitor->phase = MONITOR_OVER;
    }
}

/* The connection is over: waits for the network process, then makes it go. A process that does not
 * even die is left to init. */
static void await_exit(struct monitor *monitor, union monitor_request *request)
{
    bool killed = false;
    int64_t deadline_ms = clock_now_ms() + LIMIT_EXIT_MS;
    for (;;) {
        take_signal(monitor, request);
        if (monitor->network_gone) {
            decide_by_exit(monitor);
            return;
        }
        if (clock_now_ms() >= deadline_ms) {
            if (killed) {
                break;
            }
            decide(&monitor->ending, EXIT_TROUBLE, "network process did not end");
            kill_network(monitor);
            killed = true;
            deadline_ms = clock_now_ms() + LIMIT_EXIT_MS;
        }
        struct pollfd waiting = {.fd = monitor->signals, .events = POLLIN};
        poll(&waiting, 1, clock_timeout_ms(deadline_ms));
    }
    decide(&monitor->ending, EXIT_TROUBLE, "network process can't be killed");
}

/* The session process has seen the network process go, and ends; what it still had to log comes
 * before the end line. It may wait for a dead file system, or be stopped: then it ends with us. */
static void await_session(struct monitor *monitor, union monitor_request *request)
{
    int64_t deadline_ms = clock_now_ms() + LIMIT_SESSION_EXIT_MS;
    while (monitor->session.pid != 0 && clock_now_ms() < deadline_ms) {
        struct pollfd waiting = {.fd = monitor->signals, .events = POLLIN};
        poll(&waiting, 1, clock_timeout_ms(deadline_ms));
        take_signal(monitor, request);
    }
}

/* Systemd keeps a copy of the connection while a process of its unit lives: without this the client
 * would wait for that one's end. */
static void close_connection(struct monitor *monitor)
{
    shutdown(monitor->connection, SHUT_RDWR);
    close(monitor->connection);
}

/* ---- the end line ---------------------------------------------------------------------------- */

/* What the kernel counted goes before what the network process says. */
static void count_bytes(struct monitor *monitor)
{
    struct ending *ending = &monitor->ending;
    uint64_t in, out;
    if (tcp_bytes(&in, &out, monitor->connection)) {
        ending->counted = true;
        ending->bytes_in = in;
        ending->bytes_out = out;
    }
}

static void log_ending(const struct monitor *monitor)
{
    struct log_line line;
    const struct ending *ending = &monitor->ending;
    log_begin(&line, "end");
    log_text(&line, "user", monitor->login.user);
    if (ending->counted) {
        log_number(&line, "in", ending->bytes_in);
        log_number(&line, "out", ending->bytes_out);
    } else {
        log_text(&line, "in", "-");
        log_text(&line, "out", "-");
    }
    log_number(&line, "seconds", (uint64_t)(clock_now_ms() - monitor->started_ms) / 1000);
    log_text(&line, "reason", ending->reason);
    log_end(&line, ending->status == 0 ? LOG_EVENT : LOG_TROUBLE);
}

/* ---- the start ------------------------------------------------------------------------------- */

/* A client that goes away must not take us with it before the end is logged. */
static int watch_signals(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    return signals_watch(true);
}

/* With the signal's default action, which no handler could replace: only a signal that kills wakes
 * a process that waits for a dead file system. */
static void start_alarm(const struct options *options)
{
    const struct itimerval alarm = {
        .it_value = {.tv_sec = (time_t)options->login_seconds +
                               (LIMIT_LOGIN_GRACE_MS + LIMIT_LOGIN_ALARM_MS) / 1000 + 1}};
    signal(SIGALRM, SIG_DFL);
    setitimer(ITIMER_REAL, &alarm, NULL);
}

static void init(struct monitor *monitor, const struct monitor_setup *setup,
                 struct monitor_spare *spare)
{
    const struct options *options = setup->options;
    monitor->options = options;
    monitor->spare = spare;
    monitor->peer = setup->peer;
    monitor->identity = setup->identity;
    monitor->oom = setup->oom;
    monitor->ipc = setup->ipc;
    monitor->connection = setup->connection;
    monitor->network = setup->network;
    monitor->as_root = geteuid() == 0;
    monitor->phase = MONITOR_START;
    monitor->started_ms = clock_now_ms();
    monitor->deadline_ms =
        monitor->started_ms + (int64_t)options->login_seconds * 1000 + LIMIT_LOGIN_GRACE_MS;
    monitor->hostkey = secret_new(sizeof(*monitor->hostkey));
    monitor->signals = watch_signals();
    monitor->login = (struct login){
        .options = options,
        .peer = setup->peer,
        .identity = setup->identity,
        .hostkey = monitor->hostkey,
        .ipc = setup->ipc,
        .deadline_ms = monitor->deadline_ms,
        .reserved_uid = monitor->as_root ? setup->identity->uid : (uid_t)-1,
        .scratch = &spare->scratch,
        .enter = monitor_drop_privileges,
        .monitor = monitor,
    };
}

static int load_hostkey(struct monitor *monitor, int *status)
{
    const struct options *options = monitor->options;
    return options->key_descriptor > 0
               ? hostkey_load_descriptor(monitor->hostkey, options->key_descriptor, options->keydir,
                                         status)
               : hostkey_load(monitor->hostkey, options->keydir, status);
}

/* The host key comes into memory only now, after the network process has parted. */
static void prepare(struct monitor *monitor)
{
    int status = EXIT_TROUBLE;
    start_alarm(monitor->options);
    if (monitor->hostkey == NULL || monitor->signals < 0 || sodium_init() < 0 ||
        !confine_not_dumpable()) {
        monitor_fail(monitor, "monitor could not be set up");
    } else if (load_hostkey(monitor, &status) != 0) {
        monitor_end(monitor, status, "no host key");
        monitor->ending.told = true;
        kill_network(monitor);
    }
}

int monitor_run(const struct monitor_setup *setup)
{
    /* Not on the stack: what is never written to costs nothing, and from where the loop waits all
     * of the stack can be given back. */
    static struct monitor_memory memory __attribute__((aligned(4096)));
    struct monitor *monitor = &memory.monitor;
    init(monitor, setup, &memory.spare);
    prepare(monitor);
    while (monitor->phase != MONITOR_OVER) {
        turn(monitor);
    }
    if (monitor->hostkey != NULL) {
        secret_free(monitor->hostkey, sizeof(*monitor->hostkey));
    }
    await_exit(monitor, &memory.spare.request);
    count_bytes(monitor);
    close_connection(monitor);
    await_session(monitor, &memory.spare.request);
    if (!monitor->ending.told) {
        log_ending(monitor);
    }
    status_end(monitor->login.refusals > 0, clock_now_ms() - monitor->started_ms,
               monitor->options->login_seconds);
    return monitor->ending.status;
}
