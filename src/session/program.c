#include "session_internal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#define EXIT_CANNOT_RUN 126
#define EXIT_MISSING    127

#define SFTP_PROGRAM "wrensshd-sftp"

/* Where the child holds the program's file until the exec. */
#define SFTP_PROGRAM_DESCRIPTOR (SFTP_REPORT_DESCRIPTOR + 1)
#define SFTP_PROGRAM_PATH       "/proc/self/fd/4"
_Static_assert(SFTP_PROGRAM_DESCRIPTOR == 4, "the path ends in it");
_Static_assert(SFTP_PROGRAM_DESCRIPTOR < PROGRAM_DESCRIPTOR,
               "the file is moved before anything takes its number");

/* Our variables, the client's (at least "LANG=\0" each), the grant's (at least "A=\0"), and NULL.
 */
#define ENVIRONMENT_ENTRIES                                                                        \
    (16 + LIMIT_ENVIRONMENT_BYTES / 6 + LIMIT_GRANT_ENVIRONMENT_BYTES / 3 + 1)

/* Our dozen variables, of which four hold a path, the client's, the grant's, the client's command,
 * and the flags of the SFTP server. */
#define ENVIRONMENT_BYTES                                                                          \
    (4096 + 4 * LIMIT_PATH_BYTES + LIMIT_ENVIRONMENT_BYTES + LIMIT_GRANT_ENVIRONMENT_BYTES +       \
     2 * LIMIT_COMMAND_BYTES)

#define PATH_OF_USERS "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"
#define PATH_OF_ROOT  "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct environment {
    size_t count;
    size_t used;
    char *entries[ENVIRONMENT_ENTRIES];
    char *words[LIMIT_SFTP_ARGUMENTS + 2]; /* of the SFTP server's command line, and NULL */
    char bytes[ENVIRONMENT_BYTES];
};

static void report_error(const char *what, const char *path, int error)
{
    char text[LIMIT_PATH_BYTES + 128];
    int bytes = snprintf(text, sizeof(text), "%s %s: %s\n", what, path, strerror(error));
    if (bytes > 0) {
        size_t count = (size_t)bytes < sizeof(text) ? (size_t)bytes : sizeof(text) - 1;
        ssize_t written = write(STDERR_FILENO, text, count);
        (void)written; /* there is no other place to report it */
    }
}

/* The variable's index, or the count if it is not set. */
static size_t find_variable(const struct environment *environment, const char *name)
{
    size_t name_bytes = strlen(name);
    size_t i = 0;
    while (i < environment->count && (strncmp(environment->entries[i], name, name_bytes) != 0 ||
                                      environment->entries[i][name_bytes] != '=')) {
        i++;
    }
    return i;
}

/* Replaces an earlier value. The sizes above leave room for all variables. */
static void set_variable(struct environment *environment, const char *name, const char *value)
{
    size_t room = sizeof(environment->bytes) - environment->used;
    char *entry = environment->bytes + environment->used;
    int bytes = snprintf(entry, room, "%s=%s", name, value);
    if (bytes < 0 || (size_t)bytes >= room || environment->count + 1 >= ENVIRONMENT_ENTRIES) {
        return;
    }
    size_t index = find_variable(environment, name);
    environment->used += (size_t)bytes + 1;
    environment->entries[index] = entry;
    if (index == environment->count) {
        environment->entries[++environment->count] = NULL;
    }
}

static void set_user(struct environment *environment, const struct account *account)
{
    char mail[sizeof("/var/mail/") + LIMIT_USER_BYTES];
    snprintf(mail, sizeof(mail), "/var/mail/%s", account->user);
    set_variable(environment, "USER", account->user);
    set_variable(environment, "LOGNAME", account->user);
    set_variable(environment, "HOME", account->home);
    set_variable(environment, "SHELL", account->shell);
    set_variable(environment, "PATH", account->uid == 0 ? PATH_OF_ROOT : PATH_OF_USERS);
    set_variable(environment, "MAIL", mail);
}

/* Without an address, OpenSSH's words stand for it: programs check whether the variables are
 * set. */
static void set_connection(struct environment *environment, const struct peer *peer)
{
    char text[2 * (PEER_ADDRESS_BYTES + PEER_PORT_BYTES)];
    if (!peer->has_ip) {
        set_variable(environment, "SSH_CLIENT", "UNKNOWN 65535 65535");
        set_variable(environment, "SSH_CONNECTION", "UNKNOWN 65535 UNKNOWN 65535");
        return;
    }
    snprintf(text, sizeof(text), "%s %s %s", peer->address, peer->port, peer->local_port);
    set_variable(environment, "SSH_CLIENT", text);
    snprintf(text, sizeof(text), "%s %s %s %s", peer->address, peer->port, peer->local_address,
             peer->local_port);
    set_variable(environment, "SSH_CONNECTION", text);
}

/* Whoever asks for a certificate may choose its key id: bytes that could end a word or a line, or
 * mean something to a shell, become %NN. */
static void write_certificate(char *out, size_t room, const struct grant *grant)
{
    char authority[FINGERPRINT_BYTES];
    fingerprint_write(authority, grant->authority);
    out += snprintf(out, room, " serial=%ju ca=%s id=", (uintmax_t)grant->serial, authority);
    for (const char *at = grant->key_id; *at != '\0'; at++) {
        bool plain = is_alphanumeric(*at) || strchr("-._@", *at) != NULL;
        out += snprintf(out, 3 + 1, plain ? "%c" : "%%%02X", (unsigned char)*at);
    }
}

/* As in the file that OpenSSH names in SSH_USER_AUTH, with the fingerprint instead of the key. */
static void set_key(struct environment *environment, const struct sessions *sessions)
{
    const struct grant *grant = sessions->grant;
    bool sk = grant->key.sk != 0;
    bool certified = (grant->flags & GRANT_CERTIFICATE) != 0;
    const char *suffix = certified ? "-cert-v01@openssh.com" : sk ? "@openssh.com" : "";
    char text[4 * LIMIT_KEY_ID_BYTES]; /* three for each byte of a key id, and the rest */
    if (sessions->options->is_anybody) {
        return;
    }
    int bytes = snprintf(text, sizeof(text), "publickey %sssh-ed25519%s %s", sk ? "sk-" : "",
                         suffix, sessions->key);
    if (certified) {
        write_certificate(text + bytes, sizeof(text) - (size_t)bytes, grant);
    }
    set_variable(environment, "SSH_USER_KEY", text);
}

static bool is_printable(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text <= 0x20 || *text > 0x7e) {
            return false;
        }
    }
    return true;
}

static void set_terminal(struct environment *environment, const struct program *program)
{
    if (program->terminal_name == NULL) {
        return;
    }
    const char *term = program->request->term;
    set_variable(environment, "SSH_TTY", program->terminal_name);
    if (term[0] != '\0' && is_printable(term)) {
        set_variable(environment, "TERM", term);
    }
}

/* "NAME=VALUE\0"... */
static void set_variables(struct environment *environment, const char *variables, size_t count)
{
    const char *end = variables + count;
    for (const char *at = variables; at < end; at += strlen(at) + 1) {
        char name[LIMIT_ENVIRONMENT_BYTES];
        size_t name_bytes = strcspn(at, "=");
        memcpy(name, at, name_bytes);
        name[name_bytes] = '\0';
        set_variable(environment, name, at + name_bytes + 1);
    }
}

static void place_descriptors(const struct program *program)
{
    for (int fd = 0; fd < 3; fd++) {
        if (dup2(program->standard[fd], fd) < 0) {
            _exit(EXIT_CANNOT_RUN);
        }
    }
    if (program->report < 0) {
        descriptors_close_from(3);
        return;
    }
    /* dup2() would leave a descriptor that has the number already close-on-exec. */
    if (dup3(program->report, SFTP_REPORT_DESCRIPTOR, 0) < 0 ||
        dup3(PROGRAM_DESCRIPTOR, SFTP_PROGRAM_DESCRIPTOR, O_CLOEXEC) < 0) {
        report_error("could not run", "the SFTP server", errno);
        _exit(EXIT_CANNOT_RUN);
    }
    descriptors_close_from(SFTP_PROGRAM_DESCRIPTOR + 1);
}

static void enter_home(const char *home)
{
    if (chdir(home) == 0) {
        return;
    }
    report_error("could not enter home directory", home, errno);
    if (chdir("/") != 0) {
        report_error("could not enter", "/", errno);
    }
}

/* While the child may block on a dead file system it must end with the session process. The kernel
 * sends no signal for a parent that has ended before. */
static void end_with_session(pid_t session)
{
    prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0L, 0L, 0L);
    if (getppid() != session) {
        _exit(EXIT_CANNOT_RUN);
    }
}

/* execve() is declared with `char *` for historical reasons, and does not write to it. */
static char *as_argument(const char *text)
{
    const union {
        const char *given;
        char *taken;
    } pointer = {text};
    return pointer.taken;
}

/* Runs the command, or with NULL a login shell: its name starts with "-". */
static void run_shell(const struct program *program, const char *command,
                      struct environment *environment)
{
    const char *shell = program->sessions->account->shell;
    const char *slash = strrchr(shell, '/');
    const char *base = slash != NULL ? slash + 1 : shell;
    char name[1 + LIMIT_PATH_BYTES];
    char *arguments[] = {name, NULL, NULL, NULL};

    snprintf(name, sizeof(name), "%s%s", command == NULL ? "-" : "", base);
    if (command != NULL) {
        arguments[1] = as_argument("-c");
        arguments[2] = as_argument(command);
    }
    execve(shell, arguments, environment->entries);
}

/* Runs our own program's file under the SFTP server's name: by its descriptor, as the file may have
 * been replaced or removed since the daemon started. */
static void run_sftp(const struct program *program, struct environment *environment)
{
    size_t count = 0;
    char *rest = NULL;
    char *command = environment->bytes + environment->used;
    environment->words[count++] = as_argument(SFTP_PROGRAM);
    if (log_shows(LOG_DETAIL)) {
        environment->words[count++] = as_argument("-v");
    }
    snprintf(command, sizeof(environment->bytes) - environment->used, "%s", program->task->command);
    strtok_r(command, " \t", &rest); /* internal-sftp */
    char *word;
    while ((word = strtok_r(NULL, " \t", &rest)) != NULL) {
        if (count > LIMIT_SFTP_ARGUMENTS) {
            errno = E2BIG;
            return;
        }
        environment->words[count++] = word;
    }
    environment->words[count] = NULL;
    syscall(SYS_execveat, SFTP_PROGRAM_DESCRIPTOR, "", environment->words, environment->entries,
            AT_EMPTY_PATH);
    /* Linux before 3.19 lacks the call. With TOMOYO enabled, kernels such as Debian 11's look for
     * the file in /dev/fd, which a board may lack. */
    execve(SFTP_PROGRAM_PATH, environment->words, environment->entries);
}

/* Has the shell run the SFTP server by the name that is installed beside our program. The name has
 * a slash, which rbash and similar shells refuse. It has no blank and no special character of a
 * shell, so no flag gets lost. */
static void run_sftp_by_shell(const struct program *program, struct environment *environment)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789+,-./:_ \t%";
    char *command = environment->bytes + environment->used;
    char *end = environment->bytes + sizeof(environment->bytes) - 1;
    ssize_t bytes = readlink(SFTP_PROGRAM_PATH, command, (size_t)(end - command));
    command[bytes > 0 ? bytes : 0] = '\0';
    char *slash = strrchr(command, '/');
    if (slash == NULL) {
        return;
    }
    int length = snprintf(slash, (size_t)(end - slash), "/" SFTP_PROGRAM "%s%s",
                          log_shows(LOG_DETAIL) ? " -v" : "",
                          program->task->command + strlen(GRANT_INTERNAL_SFTP));
    errno = EINVAL;
    if (length < end - slash && command[0] == '/' && command[strspn(command, plain)] == '\0' &&
        strcspn(command, " \t") > (size_t)(slash - command)) {
        run_shell(program, command, environment);
    }
}

/* An SFTP server would leave a client that wants a shell or a command waiting for ever. */
__attribute__((noreturn)) static void refuse_other(void)
{
    static const char text[] = "Only SFTP is allowed here.\n";
    ssize_t written = write(STDOUT_FILENO, text, sizeof(text) - 1);
    _exit(written < 0 ? EXIT_CANNOT_RUN : 1);
}

_Static_assert(sizeof(struct environment) <= CHILD_MEMORY_BYTES, "the child has the memory");

/* Runs in the child. */
static int become_program(void *argument, void *memory)
{
    const struct program *program = argument;
    const struct sessions *sessions = program->sessions;
    const struct ipc_spawn *request = program->request;
    struct environment *environment = memory;
    environment->count = environment->used = 0;
    setsid();
    signals_hand_on();
    if (program->terminal_name != NULL && ioctl(program->standard[0], TIOCSCTTY, 0) != 0) {
        _exit(EXIT_CANNOT_RUN);
    }
    place_descriptors(program);

    set_user(environment, sessions->account);
    set_variables(environment, (const char *)(request + 1), request->environment_bytes);
    set_variables(environment, sessions->grant->environment, program->grant_environment_bytes);
    set_connection(environment, sessions->peer);
    set_key(environment, sessions);
    set_terminal(environment, program);
    if (program->task->original != NULL) {
        set_variable(environment, "SSH_ORIGINAL_COMMAND", program->task->original);
    }
    end_with_session(program->session);
    enter_home(sessions->account->home);
    prctl(PR_SET_PDEATHSIG, 0UL, 0L, 0L, 0L); /* the user's program itself must outlive it */
    const char *path = SFTP_PROGRAM;
    if (program->task->wants_other) {
        refuse_other();
    }
    if (program->task->through_shell) {
        run_sftp_by_shell(program, environment);
    } else if (program->report >= 0) {
        run_sftp(program, environment);
    } else {
        path = sessions->account->shell;
        run_shell(program, program->task->command, environment);
    }

    int error = errno;
    report_error("could not run", path, error);
    _exit(error == ENOENT || error == ENOTDIR ? EXIT_MISSING : EXIT_CANNOT_RUN);
}

pid_t program_start(struct program *program)
{
    program->session = getpid();
    return child_start(become_program, program);
}
