/*
 * The session process's whole life against a hostile network process, from its fork to its end, and
 * its programs' children until their exec: every system call is simulated. A model
 * (support/session_model.h) says what each request must lead to.
 *
 * Input: settings, then operations: a byte each, and what the operation needs.
 */
#include "session_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "fuzz.h"
#include "grant.h"
#include "process.h"
#include "session.h"
#include "session_model.h"
#include "session_program.h"
#include "session_target.h"
#include "simulation.h"

jmp_buf session_end;
bool in_child;
struct target_state state;
static struct account *products_account;
static struct grant *products_grant;

/* ---- requests, replies, reports -------------------------------------------------------------- */

SIMULATED(ssize_t, recvmsg, int fd, struct msghdr *message, int flags)
{
    if (!simulating) {
        return __real_recvmsg(fd, message, flags);
    }
    struct session_message *request = &session_program.request;
    SIMULATION_CHECK(fd == SESSION_DESCRIPTOR && message->msg_controllen == 0);
    SIMULATION_CHECK((flags & MSG_DONTWAIT) != 0 && message->msg_iovlen == 1);
    message->msg_flags = 0;
    if (request->bytes == 0) {
        errno = EAGAIN;
        return session_program.closed ? 0 : -1;
    }
    size_t room = message->msg_iov->iov_len;
    size_t count = request->bytes < room ? request->bytes : room;
    memcpy(message->msg_iov->iov_base, request->data, count);
    bool cut = count < request->bytes || request->descriptors;
    message->msg_flags = count < request->bytes ? MSG_TRUNC : request->descriptors ? MSG_CTRUNC : 0;
    request->bytes = 0;
    session_request(request->data, count, cut);
    return (ssize_t)count;
}

SIMULATED(ssize_t, sendmsg, int fd, const struct msghdr *message, int flags)
{
    if (!simulating) {
        return __real_sendmsg(fd, message, flags);
    }
    int passed[IPC_REPLY_DESCRIPTORS];
    size_t count = 0;
    SIMULATION_CHECK(fd == SESSION_DESCRIPTOR && (flags & MSG_DONTWAIT) != 0);
    if (message->msg_controllen > 0) {
        const struct cmsghdr *header = message->msg_control;
        count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        SIMULATION_CHECK(header->cmsg_type == SCM_RIGHTS && count <= IPC_REPLY_DESCRIPTORS);
        memcpy(passed, CMSG_DATA(header), count * sizeof(int));
    }
    session_check_reply(message->msg_iov->iov_base, message->msg_iov->iov_len, passed, count);
    if (session_program.send_error != 0) {
        errno = session_program.send_error;
        session.broken = errno == EAGAIN;
        simulation_goal("reply-fails");
        return -1;
    }
    return (ssize_t)message->msg_iov->iov_len;
}

/* The lifeline: first whether the start worked, then why the connection must end. */
SIMULATED(ssize_t, send, int fd, const void *bytes, size_t count, int flags)
{
    if (!simulating) {
        return __real_send(fd, bytes, count, flags);
    }
    SIMULATION_CHECK(simulation_fd(fd)->kind == FD_LIFELINE && !in_child);
    if (!state.started) {
        int error;
        SIMULATION_CHECK(count == sizeof(error));
        memcpy(&error, bytes, count);
        SIMULATION_CHECK((error != 0) == ((session_program.fails & FAIL_START) != 0));
        state.started = true;
    } else {
        SIMULATION_CHECK(session.broken && !state.reported && count > 0 &&
                         count <= LIMIT_NOTE_BYTES);
        state.reported = true;
    }
    return (ssize_t)count;
}

SIMULATED(ssize_t, recv, int fd, void *out, size_t room, int flags)
{
    if (!simulating) {
        return __real_recv(fd, out, room, flags);
    }
    SIMULATION_CHECK(simulation_fd(fd)->kind == FD_REPORT && flags == MSG_DONTWAIT);
    struct model_program *server = NULL;
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        if (session.programs[i].pid == simulation_fd(fd)->object) {
            server = &session.programs[i];
        }
    }
    SIMULATION_CHECK(server != NULL && server->report_open);
    if (!program_takes_report()) {
        errno = EAGAIN;
        return -1;
    }
    int bytes = session_program_report(out, room);
    server->report_open = bytes > 0;
    simulation_goal("reads-report");
    return bytes;
}

SIMULATED(ssize_t, write, int fd, const void *bytes, size_t count)
{
    if (!simulating) {
        return __real_write(fd, bytes, count);
    }
    if (in_child) {
        if (fd == STDOUT_FILENO) {
            session_child_refuses();
        }
        return (ssize_t)count;
    }
    struct ipc_exit told;
    SIMULATION_CHECK(simulation_fd(fd)->kind == FD_PIPE && count == sizeof(told));
    memcpy(&told, bytes, sizeof(told));
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        const struct model_program *ended = session.channels[i].program;
        if (session.channels[i].state == CHANNEL_RUNNING &&
            2 * session.channels[i].exit_pipe + 1 == simulation_fd(fd)->object) {
            int status = ended->status;
            bool killed = (status & 0x7f) != 0;
            SIMULATION_CHECK(ended->ended && told.signaled == killed);
            SIMULATION_CHECK(told.status == (uint32_t)(killed ? status & 0x7f : status >> 8));
            session.channels[i].state = CHANNEL_ENDED;
            return (ssize_t)count;
        }
    }
    simulation_fail("the exit goes to its own channel", __FILE__, __LINE__);
}

SIMULATED(ssize_t, read, int fd, void *out, size_t bytes)
{
    if (!simulating) {
        return __real_read(fd, out, bytes);
    }
    SIMULATION_CHECK(simulation_fd(fd)->kind == FD_SIGNALS);
    bool pending = state.child_signal;
    state.child_signal = false;
    errno = EAGAIN;
    return pending ? (ssize_t)bytes : -1;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int wait_for_events(struct pollfd *waiting, nfds_t count, int timeout)
{
    bool serving = simulation_fd(waiting[0].fd)->kind == FD_SESSION;
    for (;;) {
        int ready = 0;
        for (nfds_t i = 0; i < count; i++) {
            waiting[i].revents = 0;
            if (waiting[i].fd < 0) {
                continue;
            }
            int kind = simulation_fd(waiting[i].fd)->kind;
            bool is = kind == FD_SESSION
                          ? session_program.request.bytes > 0 || session_program.closed
                      : kind == FD_SIGNALS  ? state.child_signal
                      : kind == FD_LIFELINE ? session_program.lifeline_closed
                                            : program_has_report();
            waiting[i].revents = is ? (kind == FD_LIFELINE ? POLLHUP : POLLIN) : 0;
            ready += is;
        }
        if (ready > 0) {
            return ready;
        }
        switch (session_program_event()) {
        case SESSION_SIGNAL:
            state.child_signal = true;
            break;
        case SESSION_TIME:
            if (timeout >= 0) {
                simulation_ms += timeout;
                return 0;
            }
            break;
        case SESSION_INTERRUPT:
            errno = EINTR;
            return -1;
        case SESSION_OVER:
            session_program.closed = true;
            if (!serving) {
                simulation_ms += timeout;
                return 0;
            }
            break;
        case SESSION_REPORT:
        case SESSION_REQUEST:
            break;
        }
    }
}

SIMULATED(int, poll, struct pollfd *waiting, nfds_t count, int timeout)
{
    if (!simulating) {
        return __real_poll(waiting, count, timeout);
    }
    session_check_descriptors();
    SIMULATION_CHECK(!session.broken && !session.due);
    return wait_for_events(waiting, count, timeout);
}

SIMULATED(int, __poll_chk, struct pollfd *waiting, nfds_t count, int timeout, size_t room)
{
    SIMULATION_CHECK(count * sizeof(*waiting) <= room);
    return __wrap_poll(waiting, count, timeout);
}

/* ---- the start and the end ------------------------------------------------------------------- */

SIMULATED(int, account_become, const struct account *account, const struct account_groups *groups)
{
    (void)groups;
    SIMULATION_CHECK(strcmp(account->user, "bob") == 0);
    errno = EPERM;
    return (session_program.fails & FAIL_START) ? -1 : 0;
}

SIMULATED(void, secret_abandon, void *secret, size_t bytes)
{
    SIMULATION_CHECK(secret == &state && bytes == sizeof(state));
    simulation_goal("abandons-key");
}

SIMULATED(int, signals_watch, bool with_ending)
{
    SIMULATION_CHECK(!with_ending);
    return simulation_open(FREE_DESCRIPTOR_MIN, FD_SIGNALS, 0);
}

SIMULATED(void, memory_give_back, void *start, size_t bytes)
{
    (void)start;
    (void)bytes;
}

SIMULATED(void, memory_give_back_stack, void)
{
}

SIMULATED(int, chdir, const char *path)
{
    return simulating ? strcmp(path, "/") : __real_chdir(path);
}

SIMULATED(int, prctl, int option, ...)
{
    (void)option;
    return 0;
}

/* A program's child is played by the session process itself. */
SIMULATED(pid_t, getppid, void)
{
    return getpid();
}

SIMULATED(void, sessions_init, struct sessions *sessions, const struct session_options *options,
          const struct peer *peer, const struct account *account, const struct grant *grant)
{
    products_account = (struct account *)(uintptr_t)account;
    products_grant = (struct grant *)(uintptr_t)grant;
    __real_sessions_init(sessions, options, peer, account, grant);
}

static void run(struct session_options *options, struct account *account, struct grant *grant)
{
    const struct peer peer = {.address = "192.0.2.7",
                              .port = "1",
                              .local_address = "192.0.2.1",
                              .local_port = "22",
                              .has_ip = true};
    const struct peer pipe = {.address = "pipe", .port = "0"};
    const struct account_groups groups = {.count = 0};
    struct session_handle handle = {.pid = 0};
    struct session_setup setup = {.options = *options,
                                  .peer = session.has_address ? &peer : &pipe,
                                  .account = account,
                                  .groups = &groups,
                                  .grant = grant,
                                  .secret = &state,
                                  .secret_bytes = sizeof(state)};
    for (size_t i = 0; i < SESSION_CLOSES; i++) {
        setup.closes[i] = simulation_open(FREE_DESCRIPTOR_MIN, FD_MONITORS, 0);
    }
    if (setjmp(session_end) == 0) {
        session_process_start(&handle, &setup);
        simulation_fail("the session process ends by itself", __FILE__, __LINE__);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct session_options options;
    static struct account account;
    static struct grant grant;
    memset(&options, 0, sizeof(options));
    memset(&account, 0, sizeof(account));
    memset(&grant, 0, sizeof(grant));
    memset(&session, 0, sizeof(session));
    memset(&state, 0, sizeof(state));
    in_child = false;
    session_program_begin((struct input){data, size}, &options, &grant, &account,
                          &session.has_address);
    session.options = &options;
    session.grant = &grant;
    session.account = &account;
    session.forced = options.forced_command != NULL ? options.forced_command
                     : (grant.flags & GRANT_FORCED) ? grant.command
                                                    : NULL;
    session.next_pid = 300;
    simulation_begin();
    simulation_place(SESSION_DESCRIPTOR, FD_SESSION, 0);
    simulation_place(PROGRAM_DESCRIPTOR, FD_PROGRAM, 0);
    run(&options, &account, &grant);
    SIMULATION_CHECK(state.exit_status ==
                     (session.broken || (session_program.fails & FAIL_START) ? 111 : 0));
    SIMULATION_CHECK(session.broken == state.reported);
    simulation_end();
    if (products_account != NULL) { /* the product starts with zeros */
        memset(products_account, 0, sizeof(*products_account));
        memset(products_grant, 0, sizeof(*products_grant));
    }
    return 0;
}
