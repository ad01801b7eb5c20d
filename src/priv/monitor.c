#include "monitor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "entropy.h"
#include "exits.h"
#include "log.h"
#include "memory.h"
#include "requests.h"
#include "state.h"

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
    monitor->phase = PHASE_OVER;
}

void monitor_fail(struct monitor *monitor, const char *reason)
{
    monitor_end(monitor, EXIT_TROUBLE, reason);
    kill(monitor->network, SIGKILL);
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

/* Also reaps children of released slots, and helpers that nobody waited for. */
static void reap(struct monitor *monitor)
{
    struct signalfd_siginfo drained;
    int status;
    pid_t pid;
    while (read(monitor->signals, &drained, sizeof(drained)) > 0) {
    }
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == monitor->network) {
            monitor->network_gone = true;
            monitor->network_status = status;
        } else {
            spawn_reaped(&monitor->sessions, pid, status);
        }
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

struct whole {
    struct monitor monitor;
    union request request; /* the one that is being served */
};

static void deadline_passed(struct monitor *monitor)
{
    char reason[64];
    snprintf(reason, sizeof(reason), "login deadline of %u s", monitor->options->login_seconds);
    monitor_end(monitor, 0, reason);
    kill(monitor->network, SIGKILL);
}

/* Its last words may have come after poll() looked: an END counts before the exit behind it. */
static void hear_last_words(struct monitor *monitor, union request *request)
{
    while (monitor->phase != PHASE_OVER && requests_serve(monitor, request)) {
    }
    monitor->phase = PHASE_OVER;
}

/* What the login has left behind: a logged-in user's monitor may have nothing to do for days. What
 * was probed is the end of the one, and the request follows. */
static void rest(struct whole *whole)
{
    const size_t start = offsetof(struct whole, monitor.login.probed);
    whole->monitor.login.probed = false;
    memory_give_back((uint8_t *)whole + start, sizeof(*whole) - start);
    memory_give_back_stack();
}

static void turn(struct whole *whole)
{
    struct monitor *monitor = &whole->monitor;
    union request *request = &whole->request;
    struct pollfd waiting[] = {{.fd = monitor->ipc, .events = POLLIN},
                               {.fd = monitor->signals, .events = POLLIN}};
    int timeout = monitor->deadline_ms == INT64_MAX ? -1 : clock_timeout_ms(monitor->deadline_ms);
    bool rests = monitor->phase == PHASE_AFTER_LOGIN && !monitor->rested;
    int ready = poll(waiting, 2, rests ? LIMIT_REST_MS : timeout);
    monitor->rested = ready == 0;
    if (ready == 0 && rests) {
        rest(whole);
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
        requests_serve(monitor, request);
    } else if (ready > 0) {
        reap(monitor);
    }
    if (monitor->network_gone) {
        hear_last_words(monitor, request);
    }
}

/* The connection is over: waits for the network process, then makes it go. A process that does not
 * even die is left to init. */
static void await_exit(struct monitor *monitor)
{
    bool killed = false;
    int64_t deadline_ms = clock_now_ms() + LIMIT_EXIT_MS;
    for (;;) {
        reap(monitor);
        if (monitor->network_gone) {
            decide_by_exit(monitor);
            return;
        }
        if (clock_now_ms() >= deadline_ms) {
            if (killed) {
                break;
            }
            kill(monitor->network, SIGKILL);
            killed = true;
            deadline_ms = clock_now_ms() + LIMIT_EXIT_MS;
        }
        struct pollfd waiting = {.fd = monitor->signals, .events = POLLIN};
        poll(&waiting, 1, clock_timeout_ms(deadline_ms));
    }
    decide(&monitor->ending, EXIT_TROUBLE, "network process can't be killed");
}

static void serve(struct whole *whole)
{
    while (whole->monitor.phase != PHASE_OVER) {
        turn(whole);
    }
}

static void log_ending(const struct monitor *monitor)
{
    struct log_line line;
    const struct ending *ending = &monitor->ending;
    log_begin(&line, "end");
    log_text(&line, "user", monitor->login.account.user);
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
static int take_signals(void)
{
    sigset_t blocked;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    return signalfd(-1, &blocked, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void init(struct monitor *monitor, const struct options *options, const struct peer *peer,
                 int ipc, pid_t network)
{
    monitor->options = options;
    monitor->ipc = ipc;
    monitor->network = network;
    monitor->as_root = geteuid() == 0;
    monitor->phase = PHASE_START;
    monitor->started_ms = clock_now_ms();
    monitor->deadline_ms =
        monitor->started_ms + (int64_t)options->login_seconds * 1000 + LIMIT_LOGIN_GRACE_MS;
    monitor->login.options = options;
    monitor->login.peer = peer;
    monitor->login.hostkey = &monitor->hostkey;
    monitor->login.ipc = ipc;
    monitor->login.deadline_ms = monitor->deadline_ms;
    sessions_init(&monitor->sessions, options, peer, &monitor->login.account,
                  &monitor->login.grant);
    monitor->signals = take_signals();
}

static int load_hostkey(struct monitor *monitor, int *status)
{
    const struct options *options = monitor->options;
    return options->key_descriptor > 0
               ? hostkey_load_descriptor(&monitor->hostkey, options->key_descriptor,
                                         options->keydir, status)
               : hostkey_load(&monitor->hostkey, options->keydir, status);
}

/* The host key comes into memory only now, after the network process has parted. */
static void prepare(struct monitor *monitor)
{
    int status = EXIT_TROUBLE;
    if (monitor->signals < 0 || sodium_init() < 0 || prctl(PR_SET_DUMPABLE, 0) != 0) {
        monitor_fail(monitor, "monitor could not be set up");
    } else if (load_hostkey(monitor, &status) != 0) {
        monitor_end(monitor, status, "no host key");
        monitor->ending.told = true;
        kill(monitor->network, SIGKILL);
    }
}

int monitor_run(const struct options *options, const struct peer *peer, int ipc, pid_t network)
{
    /* Not on the stack: what is never written to costs nothing, and from where the loop waits all
     * of the stack can be given back. */
    static struct whole whole;
    struct monitor *monitor = &whole.monitor;
    init(monitor, options, peer, ipc, network);
    prepare(monitor);
    serve(&whole);
    sodium_memzero(&monitor->hostkey, sizeof(monitor->hostkey));
    await_exit(monitor);
    if (!monitor->ending.told) {
        log_ending(monitor);
    }
    close(monitor->signals);
    close(ipc);
    return monitor->ending.status;
}
