#include "session_model.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "limit.h"
#include "simulation.h"

struct session_model session;

static bool is_sftp(const char *command)
{
    return strcmp(command, "internal-sftp") == 0 || strncmp(command, "internal-sftp ", 14) == 0 ||
           strncmp(command, "internal-sftp\t", 14) == 0;
}

/* The client's command as a text. */
static const char *client_command(void)
{
    static char text[LIMIT_COMMAND_BYTES + 1];
    memcpy(text, session.tail + session.environment_bytes, session.command_bytes);
    text[session.command_bytes] = '\0';
    return text;
}

/* What a configured subsystem runs; "" for none. */
static const char *subsystem(void)
{
    const char *name = client_command();
    for (size_t i = 0; i < session.options->subsystem_count; i++) {
        const struct subsystem *row = &session.options->subsystems[i];
        if (strlen(name) == row->name_bytes && strncmp(name, row->name, row->name_bytes) == 0) {
            return row->command;
        }
    }
    return strcmp(name, "sftp") == 0 ? "internal-sftp" : "";
}

/* The command that must run; NULL for a login shell. */
static const char *expected_command(void)
{
    if (session.forced != NULL) {
        return session.forced;
    }
    return session.kind == IPC_SESSION_SHELL       ? NULL
           : session.kind == IPC_SESSION_SUBSYSTEM ? subsystem()
                                                   : client_command();
}

/* Only commands that the server chooses run its own SFTP server; a client's is for the shell. */
static bool runs_sftp(void)
{
    const char *command = expected_command();
    bool ours = session.forced != NULL || session.kind == IPC_SESSION_SUBSYSTEM;
    return ours && command != NULL && is_sftp(command);
}

/* A shell that may restrict the account starts the server: then no flag may be lost. */
static void check_sftp_by_shell(const char *path, char *const *arguments)
{
    static const char server[] = "/opt/wren/wrensshd-sftp";
    const char *flags = strpbrk(expected_command(), " \t");
    SIMULATION_CHECK(strcmp(path, session.account->shell) == 0);
    SIMULATION_CHECK(strcmp(arguments[0], "rbash") == 0 && strcmp(arguments[1], "-c") == 0);
    SIMULATION_CHECK(strncmp(arguments[2], server, sizeof(server) - 1) == 0);
    SIMULATION_CHECK(strcmp(arguments[2] + sizeof(server) - 1, flags != NULL ? flags : "") == 0);
    SIMULATION_CHECK(arguments[3] == NULL);
    simulation_goal("runs-sftp-by-shell");
}

/* ---- variables ------------------------------------------------------------------------------- */

static bool is_variable(const char *entry)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    const char *value = strchr(entry, '=');
    if (value == NULL) {
        return false;
    }
    size_t name_bytes = (size_t)(value++ - entry);
    bool named = strncmp(entry, "LANG=", 5) == 0 || strncmp(entry, "COLORTERM=", 10) == 0 ||
                 strncmp(entry, "NO_COLOR=", 9) == 0 || strncmp(entry, "GIT_PROTOCOL=", 13) == 0 ||
                 (strncmp(entry, "LC_", 3) == 0 && name_bytes > 3 && name_bytes <= 32 &&
                  strspn(entry, letters) == name_bytes);
    bool harmless = strlen(value) <= 255 && strpbrk(value, "/%") == NULL;
    for (; *value != '\0'; value++) {
        harmless = harmless && *value >= 0x20 && *value <= 0x7e;
    }
    return named && harmless;
}

static bool are_variables(const uint8_t *bytes, size_t count)
{
    if (count > 0 && bytes[count - 1] != 0) {
        return false;
    }
    for (const char *at = (const char *)bytes; at < (const char *)bytes + count;
         at += strlen(at) + 1) {
        if (!is_variable(at)) {
            return false;
        }
    }
    return true;
}

static bool is_in(const char *entry, const char *list, size_t bytes)
{
    for (const char *at = list; at < list + bytes; at += strlen(at) + 1) {
        if (strcmp(at, entry) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_named(const char *entry, const char *name)
{
    return strncmp(entry, name, strlen(name)) == 0 && entry[strlen(name)] == '=';
}

static bool is_connection(const char *entry)
{
    static const char *const with_address[] = {"SSH_CLIENT=192.0.2.7 1 22",
                                               "SSH_CONNECTION=192.0.2.7 1 192.0.2.1 22"};
    static const char *const without[] = {"SSH_CLIENT=UNKNOWN 65535 65535",
                                          "SSH_CONNECTION=UNKNOWN 65535 UNKNOWN 65535"};
    const char *const *expected = session.has_address ? with_address : without;
    return strcmp(entry, expected[0]) == 0 || strcmp(entry, expected[1]) == 0;
}

#define HASH "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define MORE "-cert-v01@openssh.com " HASH " serial=0 ca=" HASH " id=a%20b%3D%25n%0A"

static bool is_key(const char *entry)
{
    static const char *const expected[] = {
        "SSH_USER_KEY=publickey ssh-ed25519 " HASH, "SSH_USER_KEY=publickey ssh-ed25519" MORE,
        "SSH_USER_KEY=publickey sk-ssh-ed25519@openssh.com " HASH,
        "SSH_USER_KEY=publickey sk-ssh-ed25519" MORE};
    bool certified = (session.grant->flags & GRANT_CERTIFICATE) != 0;
    return strcmp(entry, expected[2 * session.grant->key.sk + certified]) == 0;
}

static void check_variable(const char *entry)
{
    static const char *const ours[] = {"USER", "LOGNAME", "HOME", "SHELL", "PATH", "MAIL"};
    bool known = is_in(entry, (const char *)session.tail, session.environment_bytes) ||
                 (session.options->forced_command == NULL && !runs_sftp() &&
                  is_in(entry, session.grant->environment, session.grant->environment_bytes));
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        known = known || is_named(entry, ours[i]);
    }
    if (is_named(entry, "SSH_CLIENT") || is_named(entry, "SSH_CONNECTION")) {
        known = is_connection(entry);
    }
    if (is_named(entry, "SSH_USER_KEY")) {
        known = is_key(entry);
    }
    bool on_terminal = session.channels[session.channel].state == CHANNEL_TERMINAL;
    known = known || (on_terminal && (is_named(entry, "SSH_TTY") || is_named(entry, "TERM")));
    if (is_named(entry, "SSH_ORIGINAL_COMMAND")) {
        known = session.forced != NULL && session.kind != IPC_SESSION_SHELL &&
                strcmp(entry + sizeof("SSH_ORIGINAL_COMMAND"), client_command()) == 0;
        simulation_goal("original-command");
    }
    SIMULATION_CHECK(known);
}

static void check_environment(char *const *environment)
{
    bool original = false, home = false, connection = false, key = false;
    for (size_t i = 0; environment[i] != NULL; i++) {
        size_t name_bytes = strcspn(environment[i], "=");
        check_variable(environment[i]);
        original = original || is_named(environment[i], "SSH_ORIGINAL_COMMAND");
        home = home || is_named(environment[i], "HOME");
        connection = connection || is_named(environment[i], "SSH_CONNECTION");
        key = key || is_named(environment[i], "SSH_USER_KEY");
        for (size_t j = 0; j < i; j++) {
            SIMULATION_CHECK(strncmp(environment[i], environment[j], name_bytes + 1) != 0);
        }
    }
    SIMULATION_CHECK(home && connection && key);
    SIMULATION_CHECK(original == (session.forced != NULL && session.kind != IPC_SESSION_SHELL));
}

/* ---- programs -------------------------------------------------------------------------------- */

static void check_childs_descriptors(bool sftp)
{
    bool on_terminal = session.channels[session.channel].state == CHANNEL_TERMINAL;
    for (int fd = 0; fd < 3; fd++) {
        const struct simulated_fd *opened = simulation_fd(fd);
        int object = on_terminal ? session.channels[session.channel].terminal
                                 : 2 * (session.first_pipe + fd) + (fd != 0);
        SIMULATION_CHECK(opened != NULL && opened->kind == (on_terminal ? FD_SLAVE : FD_PIPE) &&
                         opened->object == object && !opened->nonblocking);
    }
    SIMULATION_CHECK(simulation_count_fds(0) == (sftp ? 4 : 3));
    SIMULATION_CHECK(!sftp || simulation_fd(3)->kind == FD_REPORTER);
}

void session_check_exec(const char *path, char *const *arguments, char *const *environment)
{
    const char *command = expected_command();
    bool sftp = runs_sftp();
    SIMULATION_CHECK(session.may_start);
    check_environment(environment);
    simulation_exec();
    check_childs_descriptors(sftp);
    if (sftp && session.forced == NULL && strcmp(session.account->shell, "/bin/rbash") == 0) {
        check_sftp_by_shell(path, arguments);
        return;
    }
    if (sftp) {
        SIMULATION_CHECK(path == NULL || strcmp(path, "/proc/self/fd/4") == 0);
        SIMULATION_CHECK(strcmp(arguments[0], "wrensshd-sftp") == 0);
        SIMULATION_CHECK(session.kind == IPC_SESSION_SUBSYSTEM);
        const char *at = command;
        for (size_t i = 1; arguments[i] != NULL; i++) { /* each word, in this order */
            at = strstr(at, arguments[i]);
            SIMULATION_CHECK(at != NULL);
        }
        simulation_goal("runs-sftp");
        return;
    }
    SIMULATION_CHECK(path != NULL && strcmp(path, session.account->shell) == 0);
    if (command == NULL) {
        SIMULATION_CHECK(arguments[0][0] == '-' && arguments[1] == NULL);
        simulation_goal("runs-shell");
        return;
    }
    SIMULATION_CHECK(arguments[0][0] != '-' && strcmp(arguments[1], "-c") == 0 &&
                     strcmp(arguments[2], command) == 0 && arguments[3] == NULL);
    simulation_goal(session.forced != NULL ? "runs-forced" : "runs-command");
}

void session_child_refuses(void)
{
    SIMULATION_CHECK(session.may_start && session.forced != NULL && is_sftp(session.forced) &&
                     session.kind != IPC_SESSION_SUBSYSTEM);
    simulation_goal("refuses-other-than-sftp");
}

static struct model_program *free_program(void)
{
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        if (session.programs[i].pid == 0) {
            return &session.programs[i];
        }
    }
    return NULL;
}

pid_t session_started(void)
{
    struct model_program *program = free_program();
    SIMULATION_CHECK(session.may_start && !session.started && program != NULL);
    session.started = true;
    bool other = runs_sftp() && session.kind != IPC_SESSION_SUBSYSTEM;
    *program = (struct model_program){.pid = ++session.next_pid,
                                      .is_sftp = runs_sftp() && !other,
                                      .report_open = runs_sftp() && !other};
    session.channels[session.channel].program = program;
    return program->pid;
}

bool session_may_signal(pid_t pid, int number)
{
    const struct model_program *program =
        session.channel < LIMIT_CHANNELS ? session.channels[session.channel].program : NULL;
    return session.type == IPC_SIGNAL && session.due && session.forced == NULL && program != NULL &&
           session.channels[session.channel].state == CHANNEL_RUNNING && program->pid > 0 &&
           (pid == program->pid || pid == -program->pid) && number == (int)session.signal_number;
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool on_pty(const uint8_t *bytes, size_t count)
{
    (void)bytes;
    return count == sizeof(struct ipc_pty) &&
           session.channels[session.channel].state == CHANNEL_NONE;
}

static bool on_spawn(const uint8_t *bytes, size_t count)
{
    static uint8_t copy[IPC_SESSION_REQUEST_BYTES];
    struct ipc_spawn spawn;
    memcpy(&spawn, bytes, sizeof(spawn));
    memcpy(copy, bytes + sizeof(spawn), count - sizeof(spawn));
    session.tail = copy;
    session.kind = spawn.kind;
    session.environment_bytes = spawn.environment_bytes;
    session.command_bytes = spawn.command_bytes;
    if (spawn.environment_bytes > 2048 || spawn.command_bytes > 131000 ||
        count != sizeof(spawn) + (size_t)spawn.environment_bytes + spawn.command_bytes ||
        session.channels[session.channel].state > CHANNEL_TERMINAL || spawn.kind < 1 ||
        spawn.kind > 3 || (spawn.kind == 1 && spawn.command_bytes > 0) ||
        strnlen(spawn.term, sizeof(spawn.term)) == sizeof(spawn.term) ||
        strlen(client_command()) != spawn.command_bytes ||
        !are_variables(copy, spawn.environment_bytes) ||
        (session.forced != NULL && spawn.environment_bytes > 0)) {
        return false;
    }
    bool closed = strcmp(session.account->shell, "/usr/sbin/nologin") == 0;
    const char *command = expected_command();
    bool missing = session.forced == NULL && spawn.kind == 3 &&
                   (command[0] == '\0' || (is_sftp(command) && closed));
    session.may_start = free_program() != NULL && !missing;
    simulation_goal(free_program() == NULL ? "too-many-programs"
                    : missing              ? "no-subsystem"
                                           : "may-start");
    return true;
}

static bool on_signal(const uint8_t *bytes, size_t count)
{
    static const int named[] = {SIGABRT, SIGALRM, SIGFPE,  SIGHUP,  SIGILL,  SIGINT, SIGKILL,
                                SIGPIPE, SIGQUIT, SIGSEGV, SIGTERM, SIGUSR1, SIGUSR2};
    memcpy(&session.signal_number, bytes + 8, 4);
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        if (session.signal_number == (uint32_t)named[i]) {
            return count == sizeof(struct ipc_signal);
        }
    }
    return false;
}

static bool on_release(const uint8_t *bytes, size_t count)
{
    (void)bytes;
    return count == sizeof(struct ipc_release);
}

#define ROW(type, name, ...) [type] = {sizeof(struct ipc_##name), on_##name},

void session_request(const uint8_t *bytes, size_t count, bool cut)
{
    static const struct {
        size_t least;
        bool (*allowed)(const uint8_t *bytes, size_t count);
    } rows[] = {IPC_SESSION_REQUESTS(ROW)};
    uint32_t head[2] = {0, 0};
    SIMULATION_CHECK(!session.broken && !session.due);
    memcpy(head, bytes, count < sizeof(head) ? count : sizeof(head));
    session.type = head[0];
    session.channel = head[1];
    session.failed = session.may_start = session.started = session.signaled = false;
    session.first_pipe = session.next_pipe;
    bool known = !cut && count >= 8 && head[0] >= IPC_PTY && head[0] <= IPC_RELEASE &&
                 count >= rows[head[0]].least;
    session.due = known && head[1] < LIMIT_CHANNELS && rows[head[0]].allowed(bytes, count);
    session.broken = !session.due;
    if (session.broken) {
        simulation_goal("breaks-a-rule");
    }
}

/* ---- replies --------------------------------------------------------------------------------- */

static bool commit(void)
{
    struct model_program *program = session.channels[session.channel].program;
    enum channel_state *state = &session.channels[session.channel].state;
    switch (session.type) {
    case IPC_PTY:
        if (session.failed || (session.grant->flags & GRANT_PTY) == 0) {
            return false;
        }
        *state = CHANNEL_TERMINAL;
        session.channels[session.channel].has_terminal = true;
        session.channels[session.channel].terminal = session.next_terminal - 1;
        simulation_goal("terminal");
        return true;
    case IPC_SPAWN:
        if (session.failed || !session.started) {
            SIMULATION_CHECK(session.failed || !session.may_start);
            return false;
        }
        *state = CHANNEL_RUNNING;
        session.channels[session.channel].exit_pipe = session.next_pipe - 1;
        return true;
    case IPC_SIGNAL:
        SIMULATION_CHECK(session.signaled || session.failed || session.forced != NULL ||
                         *state != CHANNEL_RUNNING);
        return session.signaled;
    default:
        simulation_goal(*state == CHANNEL_RUNNING && program->pid > 0 ? "releases-running"
                                                                      : "releases");
        *state = CHANNEL_NONE;
        session.channels[session.channel].has_terminal = false;
        session.channels[session.channel].program = NULL;
        return true;
    }
}

void session_check_reply(const void *reply, size_t bytes, const int *passed, size_t count)
{
    SIMULATION_CHECK(session.due);
    bool on_terminal = session.channels[session.channel].state == CHANNEL_TERMINAL;
    bool done = commit();
    const struct ipc_done expected = {.type = session.type, .done = done};
    session.due = false;
    SIMULATION_CHECK(bytes == sizeof(expected) && memcmp(reply, &expected, bytes) == 0);
    size_t wanted = !done || session.type > IPC_SPAWN        ? 0
                    : session.type == IPC_PTY || on_terminal ? 1
                                                             : 4;
    SIMULATION_CHECK(count == wanted);
    for (size_t i = 0; i < count; i++) {
        const struct simulated_fd *fd = simulation_fd(passed[i]);
        SIMULATION_CHECK(fd != NULL && fd->nonblocking && fd->cloexec);
        if (session.type == IPC_PTY) {
            SIMULATION_CHECK(fd->kind == FD_MASTER &&
                             fd->object == session.channels[session.channel].terminal);
        } else { /* our end: stdin's is the writing one, the others' are the reading ones */
            int object = 2 * (session.first_pipe + (int)i) + (count == 4 && i == 0);
            SIMULATION_CHECK(fd->kind == FD_PIPE && fd->object == object);
        }
    }
}

void session_check_descriptors(void)
{
    unsigned terminals = 0, exits = 0, reports = 0;
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        terminals += session.channels[i].has_terminal;
        exits += session.channels[i].state == CHANNEL_RUNNING;
        reports += session.programs[i].pid > 0 && session.programs[i].report_open;
    }
    SIMULATION_CHECK(simulation_count_fds(FD_SLAVE) == terminals);
    SIMULATION_CHECK(simulation_count_fds(FD_PIPE) == exits);
    SIMULATION_CHECK(simulation_count_fds(FD_REPORT) == reports);
    SIMULATION_CHECK(simulation_count_fds(FD_MASTER) == 0 &&
                     simulation_count_fds(FD_REPORTER) == 0);
    SIMULATION_CHECK(simulation_count_fds(FD_MONITORS) == 0);
}
