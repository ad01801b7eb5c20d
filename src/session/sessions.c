#include "session_internal.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

static const char bad_channel[] = "session request for a channel out of range";

void sessions_init(struct sessions *sessions, const struct session_options *options,
                   const struct peer *peer, const struct account *account,
                   const struct grant *grant)
{
    memset(sessions, 0, sizeof(*sessions));
    sessions->options = options;
    sessions->peer = peer;
    sessions->account = account;
    sessions->grant = grant;
    sessions->key[0] = '-';
    if (!options->is_anybody) {
        fingerprint_write(sessions->key, grant->fingerprint);
    }
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        sessions->by_channel[i].terminal = -1;
        sessions->by_channel[i].exit_pipe = -1;
    }
}

/* The row of a program, or with pid 0 a free row; NULL if there is none. */
static struct running *find_program(struct sessions *sessions, pid_t pid)
{
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        if (sessions->programs[i].pid == pid) {
            return &sessions->programs[i];
        }
    }
    return NULL;
}

/* ---- pseudo-terminals ------------------------------------------------------------------------ */

const char *sessions_pty(void *process, const void *pty, struct reply *reply)
{
    struct sessions *sessions = process;
    const struct ipc_pty *request = pty;
    if (request->channel >= LIMIT_CHANNELS) {
        return bad_channel;
    }
    struct session *session = &sessions->by_channel[request->channel];
    if (session->state != SESSION_NONE) {
        return "terminal for a session that has begun";
    }
    if ((sessions->grant->flags & GRANT_PTY) == 0) {
        return NULL;
    }
    int master = streams_open_terminal(&session->terminal, session->terminal_name, request);
    if (master < 0) {
        log_trouble("no pseudo-terminal", NULL, strerror(errno));
        return NULL;
    }
    session->state = SESSION_TERMINAL;
    reply->passed.descriptors[reply->passed.count++] = master;
    reply->body.done.done = 1;
    return NULL;
}

/* ---- programs -------------------------------------------------------------------------------- */

static const char *check_spawn(const struct sessions *sessions, const struct ipc_spawn *request)
{
    const char *tail = (const char *)(request + 1);
    if (request->channel >= LIMIT_CHANNELS) {
        return bad_channel;
    }
    enum session_state state = sessions->by_channel[request->channel].state;
    if (state != SESSION_NONE && state != SESSION_TERMINAL) {
        return "second program for a session";
    }
    if (request->kind < IPC_SESSION_SHELL || request->kind > IPC_SESSION_SUBSYSTEM) {
        return "session of an unknown kind";
    }
    if (request->environment_bytes > LIMIT_ENVIRONMENT_BYTES ||
        request->command_bytes > LIMIT_COMMAND_BYTES) {
        return "session request above a limit";
    }
    if (request->kind == IPC_SESSION_SHELL && request->command_bytes != 0) {
        return "shell with a command";
    }
    if (memchr(request->term, '\0', sizeof(request->term)) == NULL ||
        memchr(tail + request->environment_bytes, '\0', request->command_bytes) != NULL) {
        return "session request with a wrong text";
    }
    if (!environment_is_valid(tail, request->environment_bytes, true) ||
        (task_forced(sessions->options, sessions->grant) != NULL &&
         request->environment_bytes != 0)) {
        return "environment that a client may not set";
    }
    return NULL;
}

static void log_session(const struct sessions *sessions, const struct session *session,
                        const struct ipc_spawn *request, const struct task *task)
{
    static const char kinds[][sizeof("subsystem")] = {
        [IPC_SESSION_SHELL] = "shell",
        [IPC_SESSION_EXEC] = "exec",
        [IPC_SESSION_SUBSYSTEM] = "subsystem",
    };
    struct log_line line;
    /* A command may contain a passphrase, and a user may have typed a command as the subsystem's
     * name. Only the names of configured subsystems are safe to log. */
    bool shows_command = log_shows(LOG_DETAIL);
    bool is_replaced = task->command != NULL && task->command != task->client;
    bool is_known = request->kind == IPC_SESSION_SUBSYSTEM && is_replaced && task->original == NULL;
    log_begin(&line, "session");
    log_text(&line, "user", sessions->account->user);
    log_number(&line, "channel", request->channel);
    log_text(&line, "kind", kinds[request->kind]);
    log_text(&line, "pty", session->state == SESSION_TERMINAL ? session->terminal_name : "none");
    if (session->program > 0) {
        log_number(&line, "pid", (uint64_t)session->program);
    }
    if (shows_command || is_known) {
        log_bytes(&line, "command", task->client,
                  strnlen(task->client, LIMIT_LOGGED_COMMAND_BYTES));
    }
    if (task->refused != NULL) {
        log_text(&line, "reason", task->refused);
    } else if (shows_command && is_replaced) {
        log_bytes(&line, "runs", task->command, strnlen(task->command, LIMIT_LOGGED_COMMAND_BYTES));
    }
    if (request->kind != IPC_SESSION_SHELL) {
        log_number(&line, "command-bytes", request->command_bytes);
    }
    log_text(&line, "key", sessions->key);
    log_end(&line, LOG_EVENT);
}

/* Passes the network process's ends and closes the program's; keeps the writing end of the exit
 * pipe. */
static void commit_program(struct session *session, struct streams *streams, pid_t pid,
                           struct passed *passed)
{
    session->program = pid;
    session->exit_pipe = streams->theirs[STREAM_EXIT];
    streams->theirs[STREAM_EXIT] = -1;
    streams_close(streams->theirs);
    for (size_t i = 0; i < STREAMS; i++) {
        if (streams->ours[i] >= 0) {
            passed->descriptors[passed->count++] = streams->ours[i];
        }
    }
}

/* Starts the program, with a socket for the reports of an SFTP server. Returns its row of the
 * table; the pid is 0 if it could not be started. */
static struct running start_program(const struct sessions *sessions, const struct session *session,
                                    const struct ipc_spawn *request, const struct task *task,
                                    const struct streams *streams)
{
    bool on_terminal = session->state == SESSION_TERMINAL;
    /* With the user's own variables (LD_PRELOAD, BASH_ENV) the user could replace the
     * administrator's command, and run code in our SFTP server before its sandbox. */
    bool user_environment = sessions->options->forced_command == NULL && !task->is_sftp;
    bool is_sftp = task->is_sftp && !task->wants_other;
    int report[2] = {-1, -1};
    bool ready = !is_sftp || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report) == 0;
    struct program program = {
        .sessions = sessions,
        .request = request,
        .task = task,
        .report = report[1],
        .terminal_name = on_terminal ? session->terminal_name : NULL,
        .grant_environment_bytes = user_environment ? sessions->grant->environment_bytes : 0,
        .standard = {on_terminal ? session->terminal : streams->theirs[STREAM_STDIN],
                     on_terminal ? session->terminal : streams->theirs[STREAM_STDOUT],
                     on_terminal ? session->terminal : streams->theirs[STREAM_STDERR]},
    };
    pid_t pid = ready ? program_start(&program) : -1;
    if (pid < 0) {
        log_trouble("fork", NULL, strerror(errno));
        descriptors_close_one(&report[0]);
    }
    descriptors_close_one(&report[1]);
    return (struct running){.pid = pid < 0 ? 0 : pid,
                            .report = report[0],
                            .channel = request->channel,
                            .is_sftp = is_sftp};
}

const char *sessions_spawn(void *process, const void *spawn, struct reply *reply)
{
    struct sessions *sessions = process;
    const struct ipc_spawn *request = spawn;
    struct streams streams;
    const char *wrong = check_spawn(sessions, request);
    if (wrong != NULL) {
        return wrong;
    }
    struct session *session = &sessions->by_channel[request->channel];
    struct running *row = find_program(sessions, 0);
    if (row == NULL) {
        log_trouble("no more programs for this connection", NULL,
                    "those of closed channels still run");
        return NULL;
    }
    struct task task =
        task_choose(sessions->options, sessions->grant, sessions->account, request->kind,
                    (const char *)(request + 1) + request->environment_bytes);
    if (task.refused != NULL) {
        log_session(sessions, session, request, &task);
        return NULL;
    }
    if (streams_open(&streams, session->state == SESSION_TERMINAL) != 0) {
        log_trouble("no pipe", NULL, strerror(errno));
        return NULL;
    }
    *row = start_program(sessions, session, request, &task, &streams);
    if (row->pid == 0) {
        streams_close(streams.ours);
        streams_close(streams.theirs);
        return NULL;
    }
    commit_program(session, &streams, row->pid, &reply->passed);
    log_session(sessions, session, request, &task);
    session->state = SESSION_RUNNING;
    reply->body.done.done = 1;
    return NULL;
}

/* ---- signals and closed channels ------------------------------------------------------------- */

/* RFC 4254 section 6.10. */
static bool is_signal_named(uint32_t number)
{
    static const uint8_t named[] = {SIGABRT, SIGALRM, SIGFPE,  SIGHUP,  SIGILL,  SIGINT, SIGKILL,
                                    SIGPIPE, SIGQUIT, SIGSEGV, SIGTERM, SIGUSR1, SIGUSR2};
    return number <= UINT8_MAX && memchr(named, (int)number, sizeof(named)) != NULL;
}

const char *sessions_signal(void *process, const void *signal, struct reply *reply)
{
    const struct sessions *sessions = process;
    const struct ipc_signal *request = signal;
    if (request->channel >= LIMIT_CHANNELS) {
        return bad_channel;
    }
    if (!is_signal_named(request->number)) {
        return "signal that RFC 4254 does not name";
    }
    /* The program may have just ended, which is no error. A client may not signal a forced
     * command. */
    const struct session *session = &sessions->by_channel[request->channel];
    if (session->state != SESSION_RUNNING ||
        task_forced(sessions->options, sessions->grant) != NULL) {
        return NULL;
    }
    int number = (int)request->number;
    /* In an emulator clone() does not wait for the exec: the program may not have its process group
     * yet. */
    if (kill(-session->program, number) == 0 || kill(session->program, number) == 0) {
        reply->body.done.done = 1;
    }
    return NULL;
}

const char *sessions_release(void *process, const void *release, struct reply *reply)
{
    struct sessions *sessions = process;
    const struct ipc_release *request = release;
    if (request->channel >= LIMIT_CHANNELS) {
        return bad_channel;
    }
    struct session *session = &sessions->by_channel[request->channel];
    descriptors_close_one(&session->terminal);
    descriptors_close_one(&session->exit_pipe);
    session->state = SESSION_NONE;
    session->program = 0;
    reply->body.done.done = 1;
    return NULL;
}

/* ---- reports of SFTP servers ----------------------------------------------------------------- */

static struct sftp_origin origin_of(const struct sessions *sessions, const struct running *row)
{
    return (struct sftp_origin){sessions->account->user, sessions->key, row->channel, row->pid};
}

static void read_reports(const struct sessions *sessions, struct running *row)
{
    const struct sftp_origin origin = origin_of(sessions, row);
    if (row->report >= 0 && !sftp_reports_read(row->report, &origin, &row->reported)) {
        descriptors_close_one(&row->report);
    }
}

size_t sessions_watch(const struct sessions *sessions, struct pollfd waiting[static LIMIT_CHANNELS])
{
    size_t count = 0;
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        const struct running *row = &sessions->programs[i];
        if (row->pid != 0 && row->is_sftp) {
            waiting[count++] = (struct pollfd){.fd = row->report, .events = POLLIN};
        }
    }
    return count;
}

void sessions_reports(struct sessions *sessions)
{
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        if (sessions->programs[i].pid != 0) {
            read_reports(sessions, &sessions->programs[i]);
        }
    }
}

/* ---- programs that have ended ---------------------------------------------------------------- */

static void log_exit(const struct ipc_exit *ended, size_t channel, pid_t pid, const char *key)
{
    struct log_line line;
    log_begin(&line, "exit");
    log_number(&line, "channel", channel);
    log_number(&line, "pid", (uint64_t)pid);
    log_number(&line, ended->signaled ? "signal" : "status", ended->status);
    log_text(&line, "key", key);
    log_end(&line, LOG_DETAIL);
}

void sessions_reaped(struct sessions *sessions, pid_t pid, int status)
{
    const struct ipc_exit ended = {
        .signaled = WIFSIGNALED(status),
        .status = (uint32_t)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)),
        .core_dumped = WIFSIGNALED(status) && WCOREDUMP(status),
    };
    struct running *row = find_program(sessions, pid);
    if (row == NULL) {
        return; /* not a program but its child, which CLONE_PARENT made ours */
    }
    read_reports(sessions, row);
    if (row->is_sftp && !row->reported) {
        const struct sftp_origin origin = origin_of(sessions, row);
        sftp_reports_end(status, &origin);
    }
    descriptors_close_one(&row->report);
    row->pid = 0;
    struct session *session = &sessions->by_channel[row->channel];
    if (session->state == SESSION_RUNNING && session->program == pid) {
        descriptors_close_one(&session->terminal);
        /* Never blocks, as the pipe is empty; fails if the network process has closed its end. */
        ssize_t written = write(session->exit_pipe, &ended, sizeof(ended));
        (void)written;
        descriptors_close_one(&session->exit_pipe);
        session->state = SESSION_ENDED;
        session->program = 0;
        log_exit(&ended, row->channel, pid, sessions->key);
    }
}
