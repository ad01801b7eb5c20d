#include "session_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "account_become.h"
#include "clock.h"
#include "exits.h"
#include "ipc.h"
#include "log.h"
#include "memory.h"
#include "secret.h"
#include "session_requests.h"
#include "status.h"

/* ---- the monitor's side ---------------------------------------------------------------------- */

/* Waits for the errno of becoming the user, 0 as a rule. Returns -1 if there is none in time. */
static int await_start(int lifeline, int64_t deadline_ms)
{
    int error;
    for (;;) {
        struct pollfd waiting = {.fd = lifeline, .events = POLLIN};
        int ready = poll(&waiting, 1, clock_timeout_ms(deadline_ms));
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready <= 0 || recv(lifeline, &error, sizeof(error), MSG_DONTWAIT) != sizeof(error)) {
            errno = ECHILD;
            return -1;
        }
        errno = error;
        return error == 0 ? 0 : -1;
    }
}

void session_process_words(const struct session_handle *handle, char *words)
{
    ssize_t bytes = recv(handle->lifeline, words, LIMIT_NOTE_BYTES, MSG_DONTWAIT);
    words[bytes > 0 ? bytes : 0] = '\0';
}

/* ---- the process ----------------------------------------------------------------------------- */

/* The kernel kills the process once the other end is closed: also while a program's start waits for
 * a dead file system, and if its user has stopped it. A parent-death signal would not do: a monitor
 * of another uid may not send it. */
static bool end_with_monitor(int lifeline)
{
    return fcntl(lifeline, F_SETOWN, getpid()) == 0 && fcntl(lifeline, F_SETSIG, SIGKILL) == 0 &&
           fcntl(lifeline, F_SETFL, fcntl(lifeline, F_GETFL) | O_ASYNC) == 0;
}

static int take_signals(void)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    return signalfd(-1, &blocked, SFD_NONBLOCK | SFD_CLOEXEC);
}

static int become_user(const struct session_setup *setup, int lifeline)
{
    secret_abandon(setup->secret, setup->secret_bytes);
    for (size_t i = 0; i < SESSION_NOT_ITS_OWN; i++) {
        close(setup->not_its_own[i]);
    }
    status_close();
    if (account_become(setup->account, setup->groups) != 0 || chdir("/") != 0 ||
        !end_with_monitor(lifeline)) {
        return errno;
    }
    return 0;
}

/* A logged-in user's session process may have nothing to do for days. */
static void rest(void)
{
    memory_give_back(&session_request, sizeof(session_request));
    memory_give_back_stack();
}

static void reap(struct sessions *sessions, int signals)
{
    struct signalfd_siginfo drained;
    int status;
    pid_t pid;
    while (read(signals, &drained, sizeof(drained)) > 0) {
    }
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        sessions_reaped(sessions, pid, status);
    }
}

/* Tells the monitor why it must end the connection; the lifeline takes so little at once. */
__attribute__((noreturn)) static void end(int lifeline, const char *wrong)
{
    send(lifeline, wrong, strnlen(wrong, LIMIT_NOTE_BYTES), MSG_NOSIGNAL | MSG_DONTWAIT);
    _exit(EXIT_TROUBLE);
}

__attribute__((noreturn)) static void serve(struct sessions *sessions, int lifeline, int signals)
{
    bool rested = false;
    for (;;) {
        struct pollfd waiting[] = {{.fd = SESSION_DESCRIPTOR, .events = POLLIN},
                                   {.fd = signals, .events = POLLIN},
                                   {.fd = lifeline}};
        int ready = poll(waiting, 3, rested ? -1 : LIMIT_REST_MS);
        rested = ready == 0;
        if (rested) {
            rest();
        }
        if (waiting[2].revents != 0) {
            _exit(0);
        }
        if (ready > 0 && waiting[1].revents != 0) {
            reap(sessions, signals);
        }
        if (ready > 0 && waiting[0].revents != 0) {
            const char *wrong = NULL;
            if (session_requests_serve(sessions, &wrong) == REQUEST_CLOSED) {
                _exit(0);
            }
            if (wrong != NULL) {
                end(lifeline, wrong);
            }
        }
    }
}

/* All that lives as long as the process. On a page of its own with what it needs as a rule: no
 * environment and no command come with most keys. */
static struct {
    struct sessions sessions;
    struct account account;
    struct grant grant;
} own __attribute__((aligned(4096)));

/* Into memory that is all zero: the pages of what is not there stay untouched. */
static void copy_grant(struct grant *copy, const struct grant *grant)
{
    memcpy(copy, grant, offsetof(struct grant, environment));
    memcpy(copy->environment, grant->environment, grant->environment_bytes);
    memcpy(copy->command, grant->command, grant->command_bytes);
}

/* Keeps what it needs of the monitor's memory, and gives the rest back. */
static void move_in(const struct session_setup *setup)
{
    own.account = *setup->account;
    copy_grant(&own.grant, setup->grant);
    sessions_init(&own.sessions, setup->options, setup->peer, &own.account, &own.grant);
    memory_give_back(setup->monitors_memory, setup->monitors_bytes);
}

__attribute__((noreturn)) static void run(const struct session_setup *setup, int lifeline)
{
    int signals = take_signals();
    int error = signals < 0 ? errno : become_user(setup, lifeline);
    if (send(lifeline, &error, sizeof(error), MSG_NOSIGNAL) != sizeof(error) || error != 0) {
        _exit(EXIT_TROUBLE);
    }
    move_in(setup);
    log_budget();
    serve(&own.sessions, lifeline, signals);
}

int session_process_start(struct session_handle *handle, const struct session_setup *setup)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        run(setup, ends[1]);
    }
    int error = errno;
    close(ends[1]);
    if (pid > 0 && await_start(ends[0], setup->deadline_ms) == 0) {
        handle->pid = pid;
        handle->lifeline = ends[0];
        return 0;
    }
    error = pid > 0 ? errno : error;
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    close(ends[0]);
    errno = error;
    return -1;
}
