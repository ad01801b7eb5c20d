/*
 * The monitor's whole life against a hostile network process: monitor_run() with every system call
 * simulated. A model (support/monitor_model.h) says what each request must lead to. ed25519 is
 * replaced by a keyed hash, so that each signature that is made or accepted can be judged.
 *
 * Input: eight bytes of settings, then operations: a byte each, and what the operation needs.
 */
#include "monitor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"
#include "monitor_internal.h"
#include "monitor_model.h"
#include "monitor_program.h"
#include "monitor_target.h"
#include "process.h"
#include "simulation.h"

#define NETWORK     100
#define FIRST_CHILD 200

struct model model;

struct monitor *running;
struct hostkey secrets;
const struct identity nobody = {.uid = 990, .gid = 991};
static struct {
    bool child_signal, term_signal, evict_signal;
    enum {
        NOT_TOLD,
        TOLD_BEFORE_LOGIN,
        TOLD_AFTER_LOGIN,
        TOLD_ELSE
    } evicted;            /* by the last read() alone */
    bool gone, gone_told; /* the client; the monitor knows it */
    bool seen_logged_in;  /* in a turn before */
    int64_t gone_ms;      /* since then */
    bool network_ended, network_reaped, session_ended, session_reaped;
    int network_status, session_status;
    int keys_ended; /* children that read keys, not reaped */
    bool killed, was_killed, shut, ipc_shut;
    int next_child;
    size_t answered; /* bytes of the child's answer that were read */
} state;

/* ---- who else runs --------------------------------------------------------------------------- */

static void end_network(int status)
{
    if (!state.network_ended) {
        state.network_ended = state.child_signal = true;
        state.network_status = status;
        program.closed = true;
    }
}

static void end_session(int status)
{
    if (model.sessions > 0 && !state.session_ended) {
        state.session_ended = state.child_signal = true;
        state.session_status = status;
    }
}

SIMULATED(pid_t, waitpid, pid_t pid, int *status, int options)
{
    if (!simulating) {
        return __real_waitpid(pid, status, options);
    }
    SIMULATION_CHECK(pid == -1 && options == WNOHANG);
    if (state.network_ended && !state.network_reaped) {
        state.network_reaped = true;
        *status = state.network_status;
        return NETWORK;
    }
    if (state.session_ended && !state.session_reaped) {
        state.session_reaped = true;
        *status = state.session_status;
        return MONITORS_SESSION;
    }
    if (state.keys_ended > 0) {
        *status = 0;
        return FIRST_CHILD + state.keys_ended--;
    }
    errno = ECHILD;
    return state.network_reaped ? -1 : 0;
}

/* Only processes that are not reaped. */
SIMULATED(int, kill, pid_t pid, int number)
{
    if (!simulating) {
        return __real_kill(pid, number);
    }
    SIMULATION_CHECK(number == SIGKILL);
    SIMULATION_CHECK((pid == NETWORK && !state.network_reaped) || pid == state.next_child);
    if (pid == NETWORK) {
        state.killed = true;
        if (!program.stubborn) {
            end_network(SIGKILL);
        }
    }
    return 0;
}

/* ---- the child that reads keys --------------------------------------------------------------- */

SIMULATED(int, pipe2, int ends[2], int flags)
{
    if (!simulating) {
        return __real_pipe2(ends, flags);
    }
    SIMULATION_CHECK(model.deciding && model.asks && !model.asked);
    model.asked = true;
    state.answered = 0;
    program_answer(&model);
    if (program.no_pipe) {
        errno = EMFILE;
        return -1;
    }
    ends[0] = simulation_open(FREE_DESCRIPTOR_MIN, PIPE_IN, 0);
    ends[1] = simulation_open(FREE_DESCRIPTOR_MIN, PIPE_OUT, 0);
    return 0;
}

SIMULATED(pid_t, fork, void)
{
    if (!simulating) {
        return __real_fork();
    }
    SIMULATION_CHECK(model.asked && state.answered == 0);
    if (program.no_fork) {
        errno = EAGAIN;
        return -1;
    }
    state.keys_ended++;
    state.child_signal = true;
    return ++state.next_child;
}

static bool take_signal(bool *waits)
{
    bool taken = *waits;
    *waits = false;
    return taken;
}

static ssize_t read_signals(uint8_t *out, size_t room)
{
    size_t count = 0;
    if (state.evict_signal && !state.term_signal && !state.child_signal) {
        state.evicted = running->phase == MONITOR_BEFORE_LOGIN  ? TOLD_BEFORE_LOGIN
                        : running->phase == MONITOR_AFTER_LOGIN ? TOLD_AFTER_LOGIN
                                                                : TOLD_ELSE;
        state.was_killed = state.killed;
    }
    while (count < room && (state.term_signal || state.child_signal || state.evict_signal)) {
        struct signalfd_siginfo info = {.ssi_signo = take_signal(&state.term_signal)    ? SIGTERM
                                                     : take_signal(&state.child_signal) ? SIGCHLD
                                                     : take_signal(&state.evict_signal)
                                                         ? ADMISSION_SIGNAL
                                                         : 0};
        memcpy(out + count++ * sizeof(info), &info, sizeof(info));
    }
    errno = EAGAIN;
    return count > 0 ? (ssize_t)(count * sizeof(struct signalfd_siginfo)) : -1;
}

SIMULATED(ssize_t, read, int fd, void *out, size_t bytes)
{
    if (!simulating) {
        return __real_read(fd, out, bytes);
    }
    const struct simulated_fd *opened = simulation_fd(fd);
    SIMULATION_CHECK(opened != NULL);
    if (opened->kind == PIPE_IN) {
        size_t left = program.answer_bytes - state.answered;
        size_t count = bytes < left ? bytes : left;
        count = count < program.answer_part ? count : program.answer_part;
        memcpy(out, program.answer + state.answered, count);
        memcpy((uint8_t *)&model.answer.account + state.answered, out, count);
        state.answered += count;
        model.answer.bytes += count;
        return (ssize_t)count;
    }
    SIMULATION_CHECK(opened->kind == SIGNALS && bytes >= sizeof(struct signalfd_siginfo));
    return read_signals(out, bytes / sizeof(struct signalfd_siginfo));
}

SIMULATED(bool, signals_ending_wait, void)
{
    return simulating ? state.term_signal || state.evict_signal : __real_signals_ending_wait();
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int pass(int timeout)
{
    SIMULATION_CHECK(timeout >= 0);
    simulation_ms += timeout;
    return 0;
}

/* What poll() reports about a descriptor. */
static short find_events(int fd)
{
    switch (fd < 0 ? 0 : simulation_fd(fd)->kind) {
    case SIGNALS:
        return state.child_signal || state.term_signal || state.evict_signal ? POLLIN : 0;
    case CONNECTION:
        return state.gone ? POLLRDHUP : 0;
    case IPC_SOCKET:
        return program.queued > 0 || program.closed ? POLLIN : 0;
    default:
        return 0;
    }
}

/* An eviction ends a connection before its login, and none after it. Who may be making its root
 * directory is not killed. */
static void check_eviction(void)
{
    if (state.evicted == TOLD_ELSE) {
        SIMULATION_CHECK(running->phase == MONITOR_OVER && state.killed == state.was_killed &&
                         (state.ipc_shut || state.network_reaped));
        simulation_goal("evicted");
    } else if (state.evicted == TOLD_BEFORE_LOGIN) {
        SIMULATION_CHECK(running->phase == MONITOR_OVER && (state.killed || state.network_reaped));
        simulation_goal("evicted");
    } else if (state.evicted == TOLD_AFTER_LOGIN && !state.network_reaped) {
        SIMULATION_CHECK(running->phase == MONITOR_AFTER_LOGIN && !state.killed);
        simulation_goal("not-evicted");
    }
    state.evicted = NOT_TOLD;
}

/* A client that has exchanged no keys is looked at in time, and its connection ends when it has
 * been silent for too long. */
static void check_silence(bool serving, int timeout)
{
    const bool waits = serving && model.look_ms > 0 && model.session_id_bytes == 0;
    const int64_t left_ms = model.look_ms + 1 - simulation_ms;
    SIMULATION_CHECK(!waits || (timeout >= 0 && timeout <= (left_ms > 0 ? left_ms : 0)));
    if (model.silent) {
        SIMULATION_CHECK(running->phase == MONITOR_OVER && (state.killed || state.network_reaped));
        simulation_goal("ends-silent");
    }
}

/* While requests are served: whoever stays longer without a client is killed. In the first turn
 * after the login, which is short, the monitor does not look. */
static void check_gone(const struct pollfd *connection, int timeout)
{
    bool logged_in = model.phase == MODEL_AFTER_LOGIN;
    bool just_now = logged_in && !state.seen_logged_in;
    state.seen_logged_in = logged_in;
    if (just_now) {
        SIMULATION_CHECK(connection->fd < 0 && timeout == LIMIT_REST_MS);
        return;
    }
    bool told = connection->fd < 0;
    SIMULATION_CHECK(told ? state.gone : simulation_fd(connection->fd)->kind == CONNECTION);
    state.gone_ms = told && !state.gone_told ? simulation_ms : state.gone_ms;
    state.gone_told = told;
    int64_t left_ms = state.gone_ms + LIMIT_GONE_MS + 1 - simulation_ms;
    SIMULATION_CHECK(!told || (timeout >= 0 && timeout <= (left_ms > 0 ? left_ms : 0)) ||
                     timeout == LIMIT_REST_MS);
}

/* The input's next events, until there is something to wake up for. */
static int wait_for_events(struct pollfd *waiting, nfds_t count, int timeout)
{
    bool serving = count == 3;
    if (serving) {
        check_gone(&waiting[2], timeout);
    }
    check_eviction();
    check_silence(serving, timeout);
    for (;;) {
        int ready = 0;
        for (nfds_t i = 0; i < count; i++) {
            waiting[i].revents = find_events(waiting[i].fd);
            ready += waiting[i].revents != 0;
        }
        if (ready > 0) {
            return ready;
        }
        struct event event = program_event(&model, serving);
        switch (event.what) {
        case EVENT_REQUEST:
        case EVENT_CLOSE:
            break;
        case EVENT_TIME:
            if (timeout >= 0 && event.value >= timeout) {
                return pass(timeout);
            }
            simulation_ms += event.value;
            timeout -= timeout >= 0 ? event.value : 0;
            break;
        case EVENT_NETWORK:
            end_network(event.value);
            break;
        case EVENT_SESSION:
            end_session(event.value);
            break;
        case EVENT_TERM:
            state.term_signal = true;
            break;
        case EVENT_EVICT:
            state.evict_signal = true;
            break;
        case EVENT_GONE:
            state.gone = true;
            break;
        case EVENT_ERROR:
            errno = event.value;
            return -1;
        case EVENT_OVER:
            if (program.stubborn && timeout >= 0) {
                return pass(timeout);
            }
            end_network(0);
            end_session(0);
            if (!serving && state.network_reaped && !state.child_signal) {
                return pass(timeout);
            }
            break;
        }
    }
}

SIMULATED(int, poll, struct pollfd *waiting, nfds_t count, int timeout)
{
    if (!simulating) {
        return __real_poll(waiting, count, timeout);
    }
    for (nfds_t i = 0; i < count; i++) {
        waiting[i].revents = 0;
        SIMULATION_CHECK(simulation_fd(waiting[i].fd) != NULL || (i == 2 && waiting[i].fd == -1));
    }
    if (simulation_fd(waiting[0].fd)->kind == PIPE_IN) {
        program.closed = program.closed || program.hangs_up;
        state.term_signal = state.term_signal || program.terminates;
        waiting[1].revents = program.closed ? POLLHUP : 0;
        waiting[0].revents = program.hangs && state.answered == program.answer_bytes ? 0 : POLLIN;
        int ready = (waiting[0].revents != 0) + (waiting[1].revents != 0);
        return ready > 0 ? ready : pass(timeout);
    }
    return wait_for_events(waiting, count, timeout);
}

/* A refusal waits. The simulated clock has whole milliseconds only. */
SIMULATED(int, ppoll, struct pollfd *waiting, nfds_t count, const struct timespec *timeout,
          const sigset_t *mask)
{
    if (!simulating) {
        return __real_ppoll(waiting, count, timeout, mask);
    }
    SIMULATION_CHECK(count == 1 && waiting->events == 0 && simulation_fd(waiting->fd) != NULL);
    SIMULATION_CHECK(mask == NULL && timeout->tv_nsec % 1000000 == 0);
    waiting->revents = program.closed ? POLLHUP : 0;
    return program.closed ? 1 : pass((int)(timeout->tv_sec * 1000 + timeout->tv_nsec / 1000000));
}

/* ---- requests and replies -------------------------------------------------------------------- */

SIMULATED(ssize_t, recvmsg, int fd, struct msghdr *message, int flags)
{
    if (!simulating) {
        return __real_recvmsg(fd, message, flags);
    }
    SIMULATION_CHECK(simulation_fd(fd)->kind == IPC_SOCKET && (flags & MSG_DONTWAIT) != 0);
    SIMULATION_CHECK(message->msg_iovlen == 1 && message->msg_controllen == 0);
    struct iovec *part = message->msg_iov;
    message->msg_flags = 0;
    if (program.queued == 0) {
        errno = EAGAIN;
        return program.closed ? 0 : -1;
    }
    struct request *request = program_take();
    size_t count = request->bytes < part->iov_len ? request->bytes : part->iov_len;
    memcpy(part->iov_base, request->data, count);
    message->msg_flags |= count < request->bytes ? MSG_TRUNC : 0;
    message->msg_flags |= request->descriptors ? MSG_CTRUNC : 0;
    model_request(&model, request->data, count, message->msg_flags != 0);
    return (ssize_t)count;
}

static void check_refusal_time(const struct ipc_auth_reply *reply)
{
    bool early = simulation_ms < model.received_ms + LIMIT_REFUSAL_MS;
    bool may = program.closed || state.term_signal || state.evict_signal ||
               simulation_ms >= running->login.deadline_ms;
    SIMULATION_CHECK(reply->type != IPC_AUTH || reply->verdict == IPC_VERDICT_ACCEPTED ||
                     reply->verdict == IPC_VERDICT_FULL || !early || may);
}

SIMULATED(ssize_t, sendmsg, int fd, const struct msghdr *message, int flags)
{
    if (!simulating) {
        return __real_sendmsg(fd, message, flags);
    }
    const struct iovec *part = message->msg_iov;
    SIMULATION_CHECK(simulation_fd(fd)->kind == IPC_SOCKET && (flags & MSG_DONTWAIT) != 0);
    SIMULATION_CHECK(message->msg_iovlen == 1 && message->msg_controllen == 0);
    simulation_check_secret(part->iov_base, part->iov_len);
    if (part->iov_len == sizeof(struct ipc_auth_reply)) {
        check_refusal_time(part->iov_base);
    }
    SIMULATION_CHECK(model_is_reply(&model, part->iov_base, part->iov_len));
    if (program.send_error != 0) {
        errno = program.send_error;
        model.broken = errno == EAGAIN;
        simulation_goal("reply-fails");
        return -1;
    }
    return (ssize_t)part->iov_len;
}

/* ---- the start and the end ------------------------------------------------------------------- */

SIMULATED(int, signals_watch, bool with_ending)
{
    SIMULATION_CHECK(with_ending);
    return simulation_open(FREE_DESCRIPTOR_MIN, SIGNALS, 0);
}

SIMULATED(bool, monitor_ipc_serve, struct monitor *monitor, union monitor_request *request)
{
    running = monitor;
    bool served = __real_monitor_ipc_serve(monitor, request);
    SIMULATION_CHECK(!model.may_sign && (!model.reply_due || model.broken));
    SIMULATION_CHECK((monitor->phase == MONITOR_AFTER_LOGIN) ==
                         (model.phase == MODEL_AFTER_LOGIN) ||
                     monitor->phase == MONITOR_OVER);
    SIMULATION_CHECK(!model.broken ||
                     (monitor->phase == MONITOR_OVER && (state.killed || state.network_reaped)));
    return served;
}

SIMULATED(int, shutdown, int fd, int how)
{
    if (!simulating) {
        return __real_shutdown(fd, how);
    }
    const struct simulated_fd *opened = simulation_fd(fd);
    SIMULATION_CHECK(opened != NULL);
    state.shut = state.shut || opened->kind == CONNECTION;
    state.ipc_shut = state.ipc_shut || opened->kind == IPC_SOCKET;
    if (opened->kind == IPC_SOCKET && !program.stubborn) {
        end_network(0);
    }
    return 0;
}

static void check_end(int status)
{
    bool has_key = (program.keys & 4) == 0;
    SIMULATION_CHECK(state.shut);
    SIMULATION_CHECK(running == NULL ||
                     sodium_is_zero((const uint8_t *)running->hostkey, sizeof(struct hostkey)));
    SIMULATION_CHECK(simulation_count_fds(PIPE_IN) + simulation_count_fds(PIPE_OUT) == 0);
    SIMULATION_CHECK(simulation_lines("]: event=end ") == (has_key ? 1 : 0));
    SIMULATION_CHECK(simulation_lines("]: event=net ") <= LIMIT_NOTES);
    SIMULATION_CHECK(status == 0 || status == 111 || (status == 100 && !has_key));
    SIMULATION_CHECK(!model.broken || status == 111);
    SIMULATION_CHECK(!model.ended || status == model.end_status);
    SIMULATION_CHECK(state.network_reaped || state.killed);
    SIMULATION_CHECK(model.failed && (model.left || model.sessions == 0));
    SIMULATION_CHECK(model.phase != MODEL_AFTER_LOGIN || model.left);
    check_eviction();
    if (model.phase == MODEL_AFTER_LOGIN || model.sessions > 0) {
        simulation_goal("ends-after-login");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct peer peer = {.address = "192.0.2.7",
                                     .port = "1",
                                     .local_address = "192.0.2.1",
                                     .local_port = "22",
                                     .has_ip = true};
    struct options options = {.keydir = "keys"};
    struct oom oom = {.fd = -1};
    struct admission admission = {.fd = FREE_DESCRIPTOR_MIN + 1000};
    memset(&model, 0, sizeof(model));
    memset(&state, 0, sizeof(state));
    monitor_login_begin();
    state.next_child = FIRST_CHILD;
    memcpy(model.cookie, "monitor's cookie", sizeof(model.cookie));
    program_begin((struct input){data, size}, &options, &model.as_root);
    monitor_make_keys();
    model.options = &options;
    admission.uid = model.as_root ? 0 : 1000;
    model.key = secrets;
    simulation_begin();
    model.began_ms = simulation_ms;
    simulation_count_lines("]: event=end ");
    simulation_count_lines("]: event=net ");
    simulation_keep_secret(secrets.first.secret_key, 32);
    simulation_place(IPC_DESCRIPTOR, IPC_SOCKET, 0);
    simulation_place(SESSION_DESCRIPTOR, OTHER, 0);
    simulation_place(PROGRAM_DESCRIPTOR, OTHER, 0);
    const struct monitor_setup setup = {.options = &options,
                                        .peer = &peer,
                                        .identity = &nobody,
                                        .oom = &oom,
                                        .admission = &admission,
                                        .cookie = model.cookie,
                                        .ipc = IPC_DESCRIPTOR,
                                        .connection =
                                            simulation_open(FREE_DESCRIPTOR_MIN, CONNECTION, 0),
                                        .network = NETWORK};
    check_end(monitor_run(&setup));
    simulation_end();
    if (running != NULL) { /* the product starts with zeros */
        memset(running, 0, sizeof(struct monitor_memory));
    }
    return 0;
}
