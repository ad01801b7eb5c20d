#include "session.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "session_internal.h"

/* ---- the monitor's side ---------------------------------------------------------------------- */

/* Waits until the process reports the errno of becoming the user: 0 is success. Returns 0, or -1
 * with errno: ECHILD if the process reports nothing before the deadline. */
static int await_start(int lifeline, int64_t deadline_ms)
{
    struct pollfd waiting = {.fd = lifeline, .events = POLLIN};
    int error, ready;
    do {
        ready = poll(&waiting, 1, clock_timeout_ms(deadline_ms));
    } while (ready < 0 && errno == EINTR);
    if (ready <= 0 || recv(lifeline, &error, sizeof(error), MSG_DONTWAIT) != sizeof(error)) {
        error = ECHILD;
    }
    errno = error;
    return error == 0 ? 0 : -1;
}

void session_process_reason(const struct session_handle *handle,
                            char reason[static LIMIT_NOTE_BYTES + 1])
{
    ssize_t bytes = recv(handle->lifeline, reason, LIMIT_NOTE_BYTES, MSG_DONTWAIT);
    reason[bytes > 0 ? bytes : 0] = '\0';
}

/* ---- the process ----------------------------------------------------------------------------- */

/* The kernel sends SIGKILL when the monitor's end is closed. This works even while starting a
 * program blocks on a dead file system, and even if the user has stopped this process. A
 * parent-death signal does not work here: the monitor has another uid and may not signal us. */
static bool end_with_monitor(int lifeline)
{
    /* A new socket has no other flags. */
    return fcntl(lifeline, F_SETOWN, getpid()) == 0 && fcntl(lifeline, F_SETSIG, SIGKILL) == 0 &&
           fcntl(lifeline, F_SETFL, O_ASYNC) == 0;
}

static int become_user(const struct session_setup *setup, int lifeline)
{
    secret_abandon(setup->secret, setup->secret_bytes);
    for (size_t i = 0; i < SESSION_CLOSES; i++) {
        close(setup->closes[i]);
    }
    if (account_become(setup->account, setup->groups) != 0 || !end_with_monitor(lifeline)) {
        return errno;
    }
    /* The launcher, and the other connections, have the same uid as these strangers. */
    if (setup->options.is_anybody) {
        landlock_isolate();
    } else {
        confine_join_users_keyring();
    }
    return 0;
}

#define PAGE_BYTES 4096

/* Room for the request being served; it holds nothing between two requests. On pages of its own,
 * all of which can be given back. */
static union session_request request_memory __attribute__((aligned(PAGE_BYTES)));

static void reap_programs(struct sessions *sessions, int signals)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;
    (void)!read(signals, &info, sizeof(info)); /* one SIGCHLD is pending, however many ended */
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        sessions_reaped(sessions, pid, status);
    }
}

/* Also reports log lines that were lost. */
__attribute__((noreturn)) static void finish_session(int status)
{
    log_finish();
    _exit(status);
}

/* Reports to the monitor why it must end the connection. Never blocks: the text fits into the
 * socket's buffer. */
__attribute__((noreturn)) static void end_with_reason(int lifeline, const char *wrong)
{
    send(lifeline, wrong, strnlen(wrong, LIMIT_NOTE_BYTES), MSG_NOSIGNAL | MSG_DONTWAIT);
    finish_session(EXIT_TROUBLE);
}

/* The connection has ended, and SFTP servers end with it. Reads their last reports, which may be
 * more than a socket holds. */
__attribute__((noreturn)) static void finish_with_reports(struct sessions *sessions, int signals)
{
    int64_t deadline_ms = clock_now_ms() + LIMIT_SFTP_REPORT_MS;
    struct pollfd waiting[1 + LIMIT_CHANNELS] = {{.fd = signals, .events = POLLIN}};
    nfds_t count;
    while ((count = sessions_watch(sessions, waiting + 1)) > 0 && clock_now_ms() < deadline_ms) {
        poll(waiting, 1 + count, clock_timeout_ms(deadline_ms));
        sessions_reports(sessions);
        reap_programs(sessions, signals);
    }
    finish_session(0);
}

__attribute__((noreturn)) static void serve_session(struct sessions *sessions, int lifeline,
                                                    int signals)
{
    bool idle = false;
    for (;;) {
        struct pollfd waiting[3 + LIMIT_CHANNELS] = {{.fd = SESSION_DESCRIPTOR, .events = POLLIN},
                                                     {.fd = signals, .events = POLLIN},
                                                     {.fd = lifeline}};
        nfds_t count = 3 + sessions_watch(sessions, waiting + 3);
        int ready = poll(waiting, count, idle ? -1 : LIMIT_REST_MS);
        idle = ready == 0;
        if (idle) {
            /* It may last for days: only what it needs stays in memory. */
            memory_give_back(&request_memory, sizeof(request_memory));
            child_give_back();
            memory_give_back_stack();
        }
        if (waiting[2].revents != 0) {
            finish_session(0);
        }
        if (ready > 0 && count > 3) {
            sessions_reports(sessions);
        }
        if (ready > 0 && waiting[1].revents != 0) {
            reap_programs(sessions, signals);
        }
        if (ready > 0 && waiting[0].revents != 0) {
            const char *wrong = NULL;
            if (session_ipc_serve(sessions, &request_memory, &wrong) == REQUEST_CLOSED) {
                finish_with_reports(sessions, signals);
            }
            if (wrong != NULL) {
                end_with_reason(lifeline, wrong);
            }
        }
    }
}

/* All variables that live as long as the process, on pages of their own. Most keys have neither an
 * environment nor a command, which are the last members of a grant: then only the first page is
 * used. */
struct session_memory {
    struct session_options options;
    struct sessions sessions;
    struct account account;
    struct grant grant;
};

_Static_assert(offsetof(struct session_memory, grant.environment) <= PAGE_BYTES,
               "a session without an environment and a command uses one page");

static struct session_memory memory __attribute__((aligned(PAGE_BYTES)));

/* Trick: untouched. Copies only what sessions need, into memory of zeros. */
static void copy_grant(struct grant *copy, const struct grant *grant)
{
    memcpy(copy, grant, offsetof(struct grant, environment));
    memcpy(copy->environment, grant->environment, grant->environment_bytes);
    memcpy(copy->command, grant->command, grant->command_bytes);
}

/* Copies what it needs from the monitor's memory, and gives that memory back. */
static void replace_monitors_memory(const struct session_setup *setup)
{
    memory.options = setup->options;
    memory.account = *setup->account;
    copy_grant(&memory.grant, setup->grant);
    sessions_init(&memory.sessions, &memory.options, setup->peer, &memory.account, &memory.grant);
    memory_give_back(setup->monitors_memory, setup->monitors_bytes);
}

__attribute__((noreturn)) static void run_session(const struct session_setup *setup, int lifeline)
{
    int signals = signals_watch(false);
    int error = signals < 0 ? errno : become_user(setup, lifeline);
    if (send(lifeline, &error, sizeof(error), MSG_NOSIGNAL) != sizeof(error) || error != 0) {
        _exit(EXIT_TROUBLE);
    }
    replace_monitors_memory(setup);
    log_budget();
    serve_session(&memory.sessions, lifeline, signals);
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
        run_session(setup, ends[1]);
    }
    int error = errno;
    close(ends[1]);
    if (pid > 0 && await_start(ends[0], setup->deadline_ms) == 0) {
        handle->pid = pid;
        handle->lifeline = ends[0];
        return 0;
    }
    error = pid > 0 ? errno : error;
    close(ends[0]); /* ends the child where a filter forbids kill(2) */
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    errno = error;
    return -1;
}
