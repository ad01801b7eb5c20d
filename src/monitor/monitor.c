#include "monitor_internal.h"

#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/param.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "limit_slots.h"

/* ---- reaping --------------------------------------------------------------------------------- */

/* More requests than the socket's buffer holds, which by default are about a hundred. */
#define MOST_WAITING 1024

/* Serves the requests that are waiting. The limit stops a hostile network process that keeps
 * sending. */
static void serve_waiting(struct monitor *monitor, union monitor_request *request)
{
    unsigned left = MOST_WAITING;
    while (left > 0 && monitor->phase != MONITOR_OVER && monitor_ipc_serve(monitor, request)) {
        left--;
    }
}

/* The session process exits with status 0 when the network process has closed its socket. Then the
 * network process's own end gives the reason. */
static void judge_session(struct monitor *monitor, int status)
{
    char reason[LIMIT_NOTE_BYTES + 1];
    monitor->session.pid = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        monitor->phase = MONITOR_OVER;
        return;
    }
    session_process_reason(&monitor->session, reason);
    if (reason[0] != '\0') {
        ending_fail(monitor, reason);
        return;
    }
    bool killed = WIFSIGNALED(status);
    snprintf(reason, sizeof(reason), "session process %s %d",
             killed ? "killed by signal" : "exited with status",
             killed ? WTERMSIG(status) : WEXITSTATUS(status));
    ending_begin(monitor, EXIT_TROUBLE, reason);
}

/* Reaps the other processes, and children that read keys; init reaps those that are left at the
 * end. When the session process has ended, the waiting requests are served first: an END among them
 * gives the reason. */
static void reap_children(struct monitor *monitor, union monitor_request *request)
{
    int status;
    pid_t pid;
    while ((!monitor->network_gone || monitor->session.pid != 0) &&
           (pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == monitor->setup->network) {
            monitor->network_gone = true;
            monitor->network_status = status;
        } else if (pid == monitor->session.pid) {
            serve_waiting(monitor, request);
            judge_session(monitor, status);
        }
    }
}

/* The network process sees the end of file on its socket and exits; if it serves the client, it
 * sends a DISCONNECT before. */
static void end_in_order(struct monitor *monitor, int status, const char *reason)
{
    ending_begin(monitor, status, reason);
    shutdown(monitor->setup->ipc, SHUT_WR);
}

/* Another process needs our slot. It may have asked just before the login. A network process that
 * may be making its nameless root directory (sandbox.c) is not killed: the directory would stay. */
static void evict(struct monitor *monitor, const char *reason)
{
    enum monitor_phase phase = monitor->phase;
    if (phase == MONITOR_AFTER_LOGIN) {
        return;
    }
    end_in_order(monitor, 0, reason);
    if (phase == MONITOR_BEFORE_LOGIN) {
        ending_kill_network(monitor);
    }
}

/* While many clients are silent, each must send something soon after our greeting. A client that
 * has sent something gets the whole time, as it or this machine may be slow. So does a client whose
 * bytes the kernel does not count. A greeting that the client keeps from being sent counts. */
static void judge_silence(struct monitor *monitor)
{
    const int64_t now_ms = clock_now_ms();
    const int64_t most_ms = (int64_t)monitor->setup->options->login_seconds * 1000;
    uint64_t in, out;
    if (now_ms < monitor->silence_ms) {
        return;
    }
    if (!tcp_bytes(&in, &out, monitor->setup->connection) || in > 0) {
        monitor->silence_ms = INT64_MAX;
        return;
    }
    if (out == 0 && !tcp_waits(monitor->setup->connection)) {
        monitor->greeted_ms = now_ms; /* at the earliest */
    }
    monitor->silence_ms = now_ms + LIMIT_SILENT_LOOK_MS;
    if (now_ms - monitor->greeted_ms >= admission_silence_ms(monitor->setup->admission, most_ms)) {
        evict(monitor, "client is silent, and so are many others");
    }
}

static void read_signals(struct monitor *monitor, union monitor_request *request)
{
    struct signalfd_siginfo signals[SIGNALS_WATCHED];
    char reason[64];
    ssize_t bytes = read(monitor->signals, signals, sizeof(signals));
    for (size_t i = 0; bytes > 0 && i < (size_t)bytes / sizeof(signals[0]); i++) {
        if (signals[i].ssi_signo == ADMISSION_SIGNAL) {
            evict(monitor, "evicted: a new connection needed the slot");
        } else if (signals[i].ssi_signo != SIGCHLD) { /* from a launcher or an administrator */
            snprintf(reason, sizeof(reason), "ended by signal %u", signals[i].ssi_signo);
            end_in_order(monitor, 0, reason);
        }
    }
    reap_children(monitor, request);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* What the end of a connection without a login adds to its source's penalty. */
static int64_t penalty_ms(const struct monitor *monitor)
{
    int64_t elapsed_ms = clock_now_ms() - monitor->started_ms;
    /* Its clock may be ahead of ours by the grace period. */
    if (elapsed_ms + LIMIT_LOGIN_GRACE_MS >=
        (int64_t)monitor->setup->options->login_seconds * 1000) {
        return LIMIT_PENALTY_DEADLINE_MS;
    }
    return monitor->login.refused_probes + monitor->login.refused_signatures > 0
               ? LIMIT_PENALTY_REFUSED_MS
               : LIMIT_PENALTY_NOTHING_MS;
}

/* The deadline of the login, of the connection's life, or of its end. Normally the network process
 * has ended the connection in time. */
static void deadline_passed(struct monitor *monitor)
{
    const struct options *options = monitor->setup->options;
    char reason[64];
    if (monitor->connection_gone) {
        ending_fail(monitor, "network process did not end with its connection");
        return;
    }
    if (monitor->phase == MONITOR_AFTER_LOGIN) {
        snprintf(reason, sizeof(reason), "longest life of %u s", options->life_seconds);
        end_in_order(monitor, 0, reason);
        return;
    }
    snprintf(reason, sizeof(reason), "login deadline of %u s", options->login_seconds);
    ending_begin(monitor, 0, reason);
    ending_kill_network(monitor);
}

/* The client has gone. A network process that an attacker has taken over could stay, and keep one
 * of the launcher's connections. Data for a slow program is lost if the program does not take it in
 * time. */
static void connection_ended(struct monitor *monitor)
{
    int64_t end_ms = clock_now_ms() + LIMIT_GONE_MS;
    monitor->connection_gone = true;
    if (monitor->deadline_ms > end_ms) {
        monitor->deadline_ms = end_ms;
    }
}

/* Not in the turn right after the login: the client of a short command may leave then, and the
 * network process reports that itself. */
static bool watches_connection(struct monitor *monitor)
{
    bool watches = !monitor->connection_gone && !monitor->just_logged_in;
    monitor->just_logged_in = false;
    return watches;
}

static void serve_turn(struct monitor *monitor)
{
    struct monitor_buffers *buffers = monitor->buffers;
    struct pollfd waiting[] = {
        {.fd = monitor->setup->ipc, .events = POLLIN},
        {.fd = monitor->signals, .events = POLLIN},
        {.fd = watches_connection(monitor) ? monitor->setup->connection : -1, .events = POLLRDHUP}};
    int64_t wake_ms = MIN(monitor->deadline_ms, monitor->silence_ms);
    int timeout = wake_ms == INT64_MAX ? -1 : clock_timeout_ms(wake_ms);
    bool may_give_back = monitor->phase == MONITOR_AFTER_LOGIN && !monitor->idle;
    int ready = poll(waiting, 3, may_give_back ? LIMIT_REST_MS : timeout);
    monitor->idle = ready == 0;
    if (ready == 0 && may_give_back) {
        /* It may be idle for days: only what it needs stays in memory. */
        memory_give_back(buffers, sizeof(*buffers));
        memory_give_back_stack();
        return;
    }
    if (ready < 0 && errno != EINTR) {
        ending_fail(monitor, "poll failed");
        return;
    }
    if (clock_now_ms() >= monitor->deadline_ms) {
        deadline_passed(monitor);
        return;
    }
    if (ready > 0 && waiting[0].revents != 0) {
        monitor_ipc_serve(monitor, &buffers->request);
    }
    /* In each turn, even if requests are waiting: each of them may have left a child to reap. */
    if (ready > 0 && waiting[1].revents != 0) {
        read_signals(monitor, &buffers->request);
    }
    if (ready > 0 && waiting[2].revents != 0) {
        connection_ended(monitor);
    }
    judge_silence(monitor);
    if (monitor->network_gone) {
        /* END may have arrived after poll() returned, and gives a better reason than the exit. */
        serve_waiting(monitor, &buffers->request);
        monitor->phase = MONITOR_OVER;
    }
}

static void await_signals(struct monitor *monitor, union monitor_request *request,
                          int64_t deadline_ms)
{
    struct pollfd waiting = {.fd = monitor->signals, .events = POLLIN};
    poll(&waiting, 1, clock_timeout_ms(deadline_ms));
    read_signals(monitor, request);
}

/* Waits for the network process to exit, then kills it. If even SIGKILL does not end it, the
 * monitor exits without it. */
static void await_exit(struct monitor *monitor, union monitor_request *request)
{
    bool killed = false;
    int64_t deadline_ms = clock_now_ms() + LIMIT_EXIT_MS;
    while (!monitor->network_gone) {
        await_signals(monitor, request, deadline_ms);
        if (!monitor->network_gone && clock_now_ms() >= deadline_ms) {
            if (killed) {
                ending_decide(&monitor->ending, EXIT_TROUBLE, "network process can't be killed");
                return;
            }
            ending_decide(&monitor->ending, EXIT_TROUBLE, "network process did not end");
            ending_kill_network(monitor);
            killed = true;
            deadline_ms = clock_now_ms() + LIMIT_EXIT_MS;
        }
    }
    ending_decide_by_exit(monitor);
}

/* The session process has seen the end of its socket and exits; its last log lines come before the
 * end line. If it blocks on a dead file system or is stopped, the kernel kills it when we exit. */
static void await_session(struct monitor *monitor, union monitor_request *request)
{
    int64_t deadline_ms = clock_now_ms() + LIMIT_SESSION_EXIT_MS;
    while (monitor->session.pid != 0 && clock_now_ms() < deadline_ms) {
        await_signals(monitor, request, deadline_ms);
    }
}

/* ---- the start ------------------------------------------------------------------------------- */

/* SIGALRM has its default action (signals_reset()), which kills: a process that blocks on a dead
 * file system wakes up for nothing else. */
static void start_alarm(const struct options *options)
{
    const struct itimerval alarm = {
        .it_value = {.tv_sec = (time_t)options->login_seconds +
                               (LIMIT_LOGIN_GRACE_MS + LIMIT_LOGIN_ALARM_MS) / 1000 + 1}};
    setitimer(ITIMER_REAL, &alarm, NULL);
}

static void init_monitor(struct monitor *monitor, const struct monitor_setup *setup,
                         struct monitor_buffers *buffers)
{
    monitor->setup = setup;
    monitor->buffers = buffers;
    monitor->as_root = setup->admission->uid == 0;
    monitor->phase = MONITOR_START;
    monitor->started_ms = clock_now_ms();
    monitor->deadline_ms =
        monitor->started_ms + (int64_t)setup->options->login_seconds * 1000 + LIMIT_LOGIN_GRACE_MS;
    monitor->silence_ms = INT64_MAX;
    monitor->hostkey = secret_new(sizeof(*monitor->hostkey));
    monitor->signals = signals_watch(true);
    monitor->login = (struct login){
        .setup = setup,
        .hostkey = monitor->hostkey,
        .deadline_ms = monitor->deadline_ms,
        .scratch = &buffers->login,
        .monitor = monitor,
    };
}

int monitor_load_hostkey(struct hostkey *key, const struct options *options, int *status)
{
    start_alarm(options);
    return options->key_descriptor > 0
               ? hostkey_load_descriptor(key, options->key_descriptor, options->keydir, status)
               : hostkey_load(key, options->keydir, status);
}

/* Loads the host key only now: the network process has been forked and has no copy of it. An error
 * does not kill that process, as in evict(). */
static void prepare_monitor(struct monitor *monitor)
{
    int status = EXIT_TROUBLE;
    if (monitor->hostkey == NULL || monitor->signals < 0 || sodium_init() < 0 ||
        !confine_not_dumpable()) {
        end_in_order(monitor, EXIT_TROUBLE, "monitor could not be set up");
    } else if (monitor_load_hostkey(monitor->hostkey, monitor->setup->options, &status) != 0) {
        end_in_order(monitor, status, "no host key");
        monitor->ending.logged = true;
    }
}

int monitor_run(const struct monitor_setup *setup)
{
    /* Static: pages that are never written cost nothing here, and in the idle loop the stack below
     * can be given back. */
    static struct monitor_memory memory __attribute__((aligned(4096)));
    struct monitor *monitor = &memory.monitor;
    init_monitor(monitor, setup, &memory.buffers);
    prepare_monitor(monitor);
    while (monitor->phase != MONITOR_OVER) {
        serve_turn(monitor);
    }
    if (monitor->hostkey != NULL) {
        sodium_memzero(monitor->hostkey, sizeof(*monitor->hostkey));
    }
    await_exit(monitor, &memory.buffers.request);
    ending_count_bytes(monitor);
    /* systemd keeps a copy of the connection open while any process of the unit runs. Without this
     * the client would wait for the last of these processes. */
    shutdown(monitor->setup->connection, SHUT_RDWR);
    await_session(monitor, &memory.buffers.request);
    if (!monitor->ending.logged) {
        ending_log(monitor);
    }
    admission_fail(monitor->setup->admission, penalty_ms(monitor));
    return monitor->ending.status;
}
