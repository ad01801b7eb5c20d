/* Covers sessions.c and what it starts programs with: streams.c, program.c and child.c. */
#include "session_internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "log.h"
#include "process.h"
#include "scratch.h"
#include "unit.h"

static struct subsystem subsystems[LIMIT_SUBSYSTEMS];
static struct session_options options;
static struct peer peer;
static struct account account;
static struct grant grant;
static struct sessions sessions;
static char scratch[SCRATCH_BYTES];
static char said[16384];
static char out[262144];

/* The fingerprint of zeros, which begin() sets. */
#define KEY "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

struct spawned {
    uint32_t done;
    struct passed passed;
    const char *fatal;
};

static void begin(void)
{
    scratch_make(scratch);
    /* As in the monitor; Check installs handlers for them. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    options = (struct session_options){.subsystems = subsystems};
    peer.has_ip = true;
    snprintf(peer.address, sizeof(peer.address), "192.0.2.1");
    snprintf(peer.port, sizeof(peer.port), "4711");
    snprintf(peer.local_address, sizeof(peer.local_address), "192.0.2.2");
    snprintf(peer.local_port, sizeof(peer.local_port), "22");
    snprintf(account.user, sizeof(account.user), "alice");
    snprintf(account.home, sizeof(account.home), "%s", scratch);
    snprintf(account.shell, sizeof(account.shell), "/bin/sh");
    account.uid = geteuid();
    account.gid = getegid();
    memset(&grant, 0, sizeof(grant));
    grant.flags = GRANT_OF_PLAIN_LINE;
    sessions_init(&sessions, &options, &peer, &account, &grant);
}

UNIT_FIXTURE(begin, NULL);
UNIT_TIMEOUT(30);

static const char *ask(const char *(*handle)(void *, const void *, struct reply *),
                       const void *request, uint32_t *done, struct passed *passed)
{
    struct reply reply = {.bytes = sizeof(struct ipc_done)};
    const char *fatal = handle(&sessions, request, &reply);
    *done = reply.body.done.done;
    if (passed != NULL) {
        *passed = reply.passed;
    }
    return fatal;
}

static const char *ask_program(const struct ipc_spawn *request, const char *tail, size_t tail_bytes,
                               uint32_t *done, struct passed *passed)
{
    static struct {
        struct ipc_spawn request;
        char tail[IPC_SPAWN_TAIL_BYTES + 64];
    } whole;
    whole.request = *request;
    memcpy(whole.tail, tail, tail_bytes);
    return ask(sessions_spawn, &whole, done, passed);
}

static struct spawned spawn_with(uint32_t channel, uint32_t kind, const char *environment,
                                 size_t environment_bytes, const char *command, const char *term)
{
    struct spawned running = {0};
    struct ipc_spawn request = {.type = IPC_SPAWN,
                                .channel = channel,
                                .kind = kind,
                                .environment_bytes = (uint32_t)environment_bytes,
                                .command_bytes = (uint32_t)strlen(command)};
    static char tail[IPC_SPAWN_TAIL_BYTES + 64];
    memcpy(tail, environment, environment_bytes);
    memcpy(tail + environment_bytes, command, strlen(command) + 1);
    snprintf(request.term, sizeof(request.term), "%s", term);
    capture_begin();
    running.fatal = ask_program(&request, tail, environment_bytes + strlen(command) + 1,
                                &running.done, &running.passed);
    capture_end(said, sizeof(said));
    return running;
}

static struct spawned spawn(uint32_t kind, const char *command)
{
    return spawn_with(0, kind, "", 0, command, "");
}

/* Reads until the end of file, for at most five seconds of silence. */
static size_t read_all(int fd)
{
    size_t used = 0;
    for (;;) {
        struct pollfd waiting = {.fd = fd, .events = POLLIN};
        ck_assert_int_eq(poll(&waiting, 1, 5000), 1);
        ssize_t count = read(fd, out + used, sizeof(out) - 1 - used);
        if (count < 0 && errno == EAGAIN) {
            continue;
        }
        if (count <= 0) {
            break;
        }
        used += (size_t)count;
    }
    out[used] = '\0';
    return used;
}

static struct ipc_exit reap_one(const struct spawned *running)
{
    struct ipc_exit ended;
    int status;
    pid_t pid = waitpid(-1, &status, 0);
    ck_assert_int_gt(pid, 0);
    sessions_reaped(&sessions, pid, status);
    int exit_pipe = running->passed.descriptors[running->passed.count - 1];
    ck_assert_int_eq(read(exit_pipe, &ended, sizeof(ended)), sizeof(ended));
    ck_assert_int_eq(read(exit_pipe, &ended, sizeof(ended)), 0);
    return ended;
}

static void assert_started(const struct spawned *running, unsigned descriptors)
{
    ck_assert_msg(running->fatal == NULL, "%s", running->fatal);
    ck_assert_uint_eq(running->done, 1);
    ck_assert_uint_eq(running->passed.count, descriptors);
    for (unsigned i = 0; i < descriptors; i++) {
        int fd = running->passed.descriptors[i];
        ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
        ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    }
}

static uint32_t release(uint32_t channel)
{
    const struct ipc_release request = {IPC_RELEASE, channel};
    uint32_t done = 0;
    ck_assert_ptr_null(ask(sessions_release, &request, &done, NULL));
    return done;
}

/* Runs a command to its end and returns what it wrote to stdout. */
static const char *output_of(uint32_t kind, const char *command)
{
    struct spawned running = spawn(kind, command);
    assert_started(&running, 4);
    close(running.passed.descriptors[0]);
    read_all(running.passed.descriptors[1]);
    struct ipc_exit ended = reap_one(&running);
    ck_assert_uint_eq(ended.signaled, 0);
    ck_assert_uint_eq(ended.status, 0);
    ck_assert_uint_eq(release(0), 1);
    return out;
}

static struct spawned open_terminal(uint32_t channel)
{
    struct spawned running = {0};
    struct ipc_pty request = {.type = IPC_PTY, .channel = channel, .size = {24, 80, 0, 0}};
    request.modes.c_oflag = OPOST | ONLCR;
    request.modes.c_cflag = CS8 | CREAD | B38400;
    request.modes.c_lflag = ISIG | ICANON;
    request.modes.c_cc[VINTR] = 3;
    running.fatal = ask(sessions_pty, &request, &running.done, &running.passed);
    return running;
}

/* ---- programs on pipes ----------------------------------------------------------------------- */

TEST(exec_reads_and_writes)
{
    struct spawned running = spawn(IPC_SESSION_EXEC, "cat; echo problem >&2; exit 7");
    assert_started(&running, 4);
    assert_contains(said, "event=session");
    assert_contains(said, " user=alice channel=0 kind=exec pty=none pid=");
    assert_contains(said, " command-bytes=29 key=" KEY "\n");
    assert_lacks(said, "problem");
    ck_assert_int_eq(write(running.passed.descriptors[0], "hello", 5), 5);
    close(running.passed.descriptors[0]);
    read_all(running.passed.descriptors[1]);
    ck_assert_str_eq(out, "hello");
    read_all(running.passed.descriptors[2]);
    ck_assert_str_eq(out, "problem\n");
    struct ipc_exit ended = reap_one(&running);
    ck_assert_uint_eq(ended.signaled, 0);
    ck_assert_uint_eq(ended.status, 7);
}

TEST(death_by_signal)
{
    struct spawned running = spawn(IPC_SESSION_EXEC, "kill -TERM $$");
    struct ipc_exit ended = reap_one(&running);
    ck_assert_uint_eq(ended.signaled, 1);
    ck_assert_uint_eq(ended.status, SIGTERM);
}

TEST(login_shell)
{
    struct spawned running = spawn(IPC_SESSION_SHELL, "");
    assert_started(&running, 4);
    assert_contains(said, "kind=shell");
    static const char script[] = "echo $0 ${SSH_ORIGINAL_COMMAND-unset}; exit 3\n";
    ck_assert_int_eq(write(running.passed.descriptors[0], script, strlen(script)),
                     (ssize_t)strlen(script));
    read_all(running.passed.descriptors[1]);
    ck_assert_str_eq(out, "-sh unset\n");
    ck_assert_uint_eq(reap_one(&running).status, 3);
}

TEST(subsystems_that_run)
{
    options.subsystem_count = 2;
    subsystems[0] = (struct subsystem){"sftp", 4, "echo sftp ${SSH_ORIGINAL_COMMAND-no}"};
    subsystems[1] = (struct subsystem){"sftp2=x", 5, "echo sftp2"};
    ck_assert_str_eq(output_of(IPC_SESSION_SUBSYSTEM, "sftp"), "sftp no\n");
    ck_assert_str_eq(output_of(IPC_SESSION_SUBSYSTEM, "sftp2"), "sftp2\n");
    static const char *const unknown[] = {"", "sft", "sftp3", "SFTP", "sftp2=x", "echo"};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        struct spawned running = spawn(IPC_SESSION_SUBSYSTEM, unknown[i]);
        ck_assert_ptr_null(running.fatal);
        ck_assert_uint_eq(running.done, 0);
        ck_assert_uint_eq(running.passed.count, 0);
        assert_contains(said, "no such subsystem");
    }
}

TEST(forced_command_wins)
{
    options.forced_command = "echo forced; echo \"${SSH_ORIGINAL_COMMAND-unset}\"";
    options.subsystem_count = 1;
    subsystems[0] = (struct subsystem){"sftp", 4, "echo evil"};
    ck_assert_str_eq(output_of(IPC_SESSION_EXEC, "evil $(x) 'a b'"), "forced\nevil $(x) 'a b'\n");
    assert_contains(said, " command-bytes=15 key=" KEY "\n");
    assert_lacks(said, "evil");
    assert_lacks(said, "forced");
    ck_assert_str_eq(output_of(IPC_SESSION_SHELL, ""), "forced\nunset\n");
    ck_assert_str_eq(output_of(IPC_SESSION_SUBSYSTEM, "sftp"), "forced\nsftp\n");
    ck_assert_str_eq(output_of(IPC_SESSION_SUBSYSTEM, "other"), "forced\nother\n");
    ck_assert_str_eq(output_of(IPC_SESSION_EXEC, ""), "forced\n\n");
}

/* The log line of a session, from its kind on, without the process id. */
static const char *line_of(uint32_t kind, const char *command)
{
    static char line[1024];
    struct spawned running = spawn(kind, command);
    ck_assert_ptr_null(running.fatal);
    if (running.done != 0) {
        close(running.passed.descriptors[0]);
        reap_one(&running);
        ck_assert_uint_eq(release(0), 1);
    }
    const char *start = strstr(said, " kind=");
    ck_assert_ptr_nonnull(start);
    const char *number = strstr(start, " pid=");
    size_t before = number != NULL ? (size_t)(number - start) : 0;
    const char *rest = number != NULL ? number + 5 + strspn(number + 5, "0123456789") : start;
    snprintf(line, sizeof(line), "%.*s%s", (int)before, start, rest);
    return line;
}

static const struct {
    enum log_level shown;
    const char *forced;
    uint32_t kind;
    const char *asked, *line;
} session_lines[] = {
    {LOG_EVENT, NULL, IPC_SESSION_SHELL, "", " kind=shell pty=none"},
    {LOG_EVENT, NULL, IPC_SESSION_EXEC, ": secret", " kind=exec pty=none command-bytes=8"},
    {LOG_EVENT, NULL, IPC_SESSION_SUBSYSTEM, "sftp",
     " kind=subsystem pty=none command=sftp command-bytes=4"},
    {LOG_EVENT, NULL, IPC_SESSION_SUBSYSTEM, "secret",
     " kind=subsystem pty=none reason=\"no such subsystem\" command-bytes=6"},
    {LOG_EVENT, "true", IPC_SESSION_EXEC, ": secret", " kind=exec pty=none command-bytes=8"},
    {LOG_EVENT, "true", IPC_SESSION_SUBSYSTEM, "secret",
     " kind=subsystem pty=none command-bytes=6"},
    {LOG_DETAIL, NULL, IPC_SESSION_SHELL, "", " kind=shell pty=none command=\"\""},
    {LOG_DETAIL, NULL, IPC_SESSION_EXEC, ": secret",
     " kind=exec pty=none command=\": secret\" command-bytes=8"},
    {LOG_DETAIL, NULL, IPC_SESSION_SUBSYSTEM, "sftp",
     " kind=subsystem pty=none command=sftp runs=true command-bytes=4"},
    {LOG_DETAIL, NULL, IPC_SESSION_SUBSYSTEM, "secret",
     " kind=subsystem pty=none command=secret reason=\"no such subsystem\" command-bytes=6"},
    {LOG_DETAIL, "true", IPC_SESSION_EXEC, ": secret",
     " kind=exec pty=none command=\": secret\" runs=true command-bytes=8"},
};

/* Commands may contain passphrases, and so may the name of a subsystem that is not configured. */
TEST_EACH(commands_are_logged_with_v_only, COUNT_OF(session_lines))
{
    options.subsystem_count = 1;
    subsystems[0] = (struct subsystem){"sftp", 4, "true"};
    options.forced_command = session_lines[_i].forced;
    char expected[256];
    log_open(false, session_lines[_i].shown);
    snprintf(expected, sizeof(expected), "%s key=" KEY "\n", session_lines[_i].line);
    ck_assert_str_eq(line_of(session_lines[_i].kind, session_lines[_i].asked), expected);
}

TEST(command_of_the_key)
{
    grant.flags |= GRANT_FORCED;
    snprintf(grant.command, sizeof(grant.command),
             "echo key; echo \"${SSH_ORIGINAL_COMMAND-unset}\"");
    options.subsystem_count = 1;
    subsystems[0] = (struct subsystem){"sftp", 4, "echo evil"};
    for (int i = 0; i < 2; i++) {
        ck_assert_str_eq(output_of(IPC_SESSION_EXEC, "evil 'a b'"), "key\nevil 'a b'\n");
        ck_assert_str_eq(output_of(IPC_SESSION_SHELL, ""), "key\nunset\n");
        ck_assert_str_eq(output_of(IPC_SESSION_SUBSYSTEM, "sftp"), "key\nsftp\n");
    }
    struct spawned running = spawn_with(0, IPC_SESSION_EXEC, "LANG=C", 7, "true", "");
    ck_assert_ptr_nonnull(running.fatal);
    /* An empty command is a command, too. */
    grant.command[0] = '\0';
    ck_assert_str_eq(output_of(IPC_SESSION_EXEC, "echo evil"), "");
    options.forced_command = "echo administrator";
    ck_assert_str_eq(output_of(IPC_SESSION_EXEC, "evil"), "administrator\n");
}

TEST(environment_of_the_key)
{
    static const char set[] = "LANG=key\0USER=key\0SSH_CLIENT=key\0OWN=a b";
    memcpy(grant.environment, set, sizeof(set));
    grant.environment_bytes = sizeof(set);
    struct spawned running = spawn_with(0, IPC_SESSION_EXEC, "LANG=C\0LC_ALL=x", 16,
                                        "echo $LANG $LC_ALL $USER $OWN $SSH_CLIENT", "");
    assert_started(&running, 4);
    read_all(running.passed.descriptors[1]);
    ck_assert_str_eq(out, "key x key a b 192.0.2.1 4711 22\n");
    reap_one(&running);
    /* With these variables a user could replace the administrator's command. */
    sessions_init(&sessions, &options, &peer, &account, &grant);
    options.forced_command = "echo $LANG $USER $OWN";
    ck_assert_str_eq(output_of(IPC_SESSION_SHELL, ""), "alice\n");
}

/* It would run before the sandbox, and HOME would move a jail. env(1) in our program's place, and
 * in that of a shell that is not known, shows what the server gets. */
TEST_EACH(sftp_has_no_environment_of_the_key, 4)
{
    static const char set[] = "LD_PRELOAD=/evil.so\0HOME=/evil\0OWN=evil";
    static const struct subsystem other = {"other", 5, "internal-sftp"};
    int env = open("/usr/bin/env", O_PATH | O_CLOEXEC);
    ck_assert_int_eq(dup2(env, PROGRAM_DESCRIPTOR), PROGRAM_DESCRIPTOR);
    memcpy(grant.environment, set, sizeof(set));
    grant.environment_bytes = sizeof(set);
    options.subsystems = &other;
    options.subsystem_count = 1;
    if (_i == 2) {
        grant.flags |= GRANT_FORCED;
        snprintf(grant.command, sizeof(grant.command), "internal-sftp");
    }
    if (_i == 3) {
        static const char menu[] = "#!/bin/sh\necho $1 $2; exec env\n";
        scratch_write(scratch, "menu", menu, strlen(menu), 0700);
        snprintf(account.shell, sizeof(account.shell), "%s/menu", scratch);
    }
    struct spawned running = spawn(IPC_SESSION_SUBSYSTEM, _i == 1 ? "other" : "sftp");
    assert_started(&running, 4);
    read_all(running.passed.descriptors[1]);
    assert_contains(out, "USER=alice\n");
    assert_lacks(out, "evil");
    ck_assert((strncmp(out, "-c /", 4) == 0) == (_i == 3));
    ck_assert((strstr(out, "/wrensshd-sftp\n") != NULL) == (_i == 3));
    reap_one(&running);
}

/* A shell would take what is before the blank for the program. */
TEST(sftp_in_a_folder_with_a_blank)
{
    static const char shell[] = "#!/bin/sh\necho started\n";
    char folder[sizeof(scratch) + 8];
    snprintf(folder, sizeof(folder), "%s/a b", scratch);
    ck_assert_int_eq(mkdir(folder, 0755), 0);
    scratch_write(folder, "wrensshd", "", 0, 0700);
    strcat(folder, "/wrensshd");
    int program = open(folder, O_PATH | O_CLOEXEC);
    ck_assert_int_eq(dup2(program, PROGRAM_DESCRIPTOR), PROGRAM_DESCRIPTOR);
    scratch_write(scratch, "menu", shell, strlen(shell), 0700);
    snprintf(account.shell, sizeof(account.shell), "%s/menu", scratch);
    struct spawned running = spawn(IPC_SESSION_SUBSYSTEM, "sftp");
    assert_started(&running, 4);
    read_all(running.passed.descriptors[1]);
    ck_assert_str_eq(out, "");
    reap_one(&running);
}

TEST(no_terminal_for_the_key)
{
    struct ipc_pty request = {.type = IPC_PTY};
    struct passed passed = {0};
    uint32_t done = 1;
    grant.flags &= ~(uint32_t)GRANT_PTY;
    ck_assert_ptr_null(ask(sessions_pty, &request, &done, &passed));
    ck_assert_uint_eq(done, 0);
    ck_assert_uint_eq(passed.count, 0);
    ck_assert_str_eq(output_of(IPC_SESSION_EXEC, "echo still"), "still\n");
}

TEST(longest_command)
{
    static char command[LIMIT_COMMAND_BYTES + 1];
    memset(command, 'a', sizeof(command) - 1);
    memcpy(command, "echo ", 5);
    output_of(IPC_SESSION_EXEC, command);
    ck_assert_uint_eq(strlen(out), LIMIT_COMMAND_BYTES - 5 + 1);
    options.forced_command = "printf %s \"$SSH_ORIGINAL_COMMAND\"";
    ck_assert_str_eq(output_of(IPC_SESSION_EXEC, command), command);
}

/* ---- what a program inherits ----------------------------------------------------------------- */

TEST(environment_is_built_from_nothing)
{
    char expected[2048];
    static const char client[] = "LANG=C\0LC_ALL=en_US.UTF-8\0GIT_PROTOCOL=version=2";
    setenv("LAUNCHERS_SECRET", "x", 1);
    snprintf(account.shell, sizeof(account.shell), "%s", "/usr/bin/env");
    /* env(1) as the shell, with a name that makes it ignore its arguments, shows just the block. */
    struct spawned running = spawn_with(0, IPC_SESSION_SHELL, client, sizeof(client), "", "xterm");
    read_all(running.passed.descriptors[1]);
    snprintf(expected, sizeof(expected),
             "USER=alice\nLOGNAME=alice\nHOME=%s\nSHELL=/usr/bin/env\n"
             "PATH=%s\nMAIL=/var/mail/alice\n"
             "LANG=C\nLC_ALL=en_US.UTF-8\nGIT_PROTOCOL=version=2\n"
             "SSH_CLIENT=192.0.2.1 4711 22\nSSH_CONNECTION=192.0.2.1 4711 192.0.2.2 22\n"
             "SSH_USER_KEY=publickey ssh-ed25519 " KEY "\n",
             scratch,
             geteuid() == 0 ? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
                            : "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games");
    ck_assert_str_eq(out, expected);
    reap_one(&running);
}

static const struct {
    uint32_t sk, flags;
    const char *id, *value;
} keys[] = {
    {0, 0, "", "publickey ssh-ed25519 " KEY},
    {0, 0, "not certified", "publickey ssh-ed25519 " KEY},
    {1, 0, "", "publickey sk-ssh-ed25519@openssh.com " KEY},
    {1, GRANT_CERTIFICATE, "Alice_1.2-3@example",
     "publickey sk-ssh-ed25519-cert-v01@openssh.com " KEY " serial=18446744073709551615 ca=" KEY
     " id=Alice_1.2-3@example"},
    {0, GRANT_CERTIFICATE, "",
     "publickey ssh-ed25519-cert-v01@openssh.com " KEY " serial=18446744073709551615 ca=" KEY
     " id="},
    {0, GRANT_CERTIFICATE, "a serial=1\nSSH_USER_KEY=%n\x1b[2J\x7f\xff\\'\"$`*?~/../;",
     "publickey ssh-ed25519-cert-v01@openssh.com " KEY " serial=18446744073709551615 ca=" KEY
     " id=a%20serial%3D1%0ASSH_USER_KEY%3D%25n%1B%5B2J%7F%FF%5C%27%22%24%60%2A%3F%7E%2F..%2F%3B"},
};

/* Neither a certificate's key id nor a variable of the key's line forges anything. */
TEST_EACH(key_that_logged_in, COUNT_OF(keys))
{
    static const char set[] = "SSH_USER_KEY=publickey ssh-ed25519 forged";
    char expected[512];
    memcpy(grant.environment, set, sizeof(set));
    grant.environment_bytes = sizeof(set);
    grant.key.sk = keys[_i].sk;
    grant.flags |= keys[_i].flags;
    grant.serial = UINT64_MAX;
    snprintf(grant.key_id, sizeof(grant.key_id), "%s", keys[_i].id);
    log_open(false, LOG_DETAIL);
    struct spawned running = spawn(IPC_SESSION_EXEC, "env | grep -A9 -a USER_KEY");
    read_all(running.passed.descriptors[1]);
    snprintf(expected, sizeof(expected), "SSH_USER_KEY=%s\n", keys[_i].value);
    ck_assert_int_eq(strncmp(out, expected, strlen(expected)), 0);
    ck_assert_ptr_null(strstr(out + 1, "SSH_USER_KEY=p"));
    capture_begin();
    reap_one(&running);
    capture_end(said, sizeof(said));
    assert_contains(said, " status=0 key=" KEY "\n");
}

/* The longest id, of bytes that need three each, is whole. */
TEST(longest_key_id)
{
    grant.flags |= GRANT_CERTIFICATE;
    memset(grant.key_id, '%', sizeof(grant.key_id) - 1);
    output_of(IPC_SESSION_EXEC, "echo ${#SSH_USER_KEY}; echo \"$SSH_USER_KEY\"");
    ck_assert_int_eq(atoi(out), (int)strlen("publickey ssh-ed25519-cert-v01@openssh.com " KEY
                                            " serial=0 ca=" KEY " id=") +
                                    3 * 255);
    assert_contains(out, "%25%25\n");
}

TEST(no_key_logged_in)
{
    options.is_anybody = true;
    sessions_init(&sessions, &options, &peer, &account, &grant);
    ck_assert_str_eq(output_of(IPC_SESSION_EXEC, "echo ${SSH_USER_KEY-none}"), "none\n");
    assert_contains(said, " key=-\n");
}

/* OpenSSH's words for it. */
TEST(no_address)
{
    peer.has_ip = false;
    snprintf(peer.address, sizeof(peer.address), "unix");
    ck_assert_str_eq(output_of(IPC_SESSION_EXEC, "echo $SSH_CONNECTION, $SSH_CLIENT"),
                     "UNKNOWN 65535 UNKNOWN 65535, UNKNOWN 65535 65535\n");
}

TEST(descriptors_do_not_leak)
{
    for (int i = 0; i < 20; i++) {
        ck_assert_int_ge(open("/dev/null", O_RDONLY), 0); /* not even close-on-exec */
    }
    dup2(STDERR_FILENO, 300);
    ck_assert_str_eq(output_of(IPC_SESSION_EXEC, "ls /proc/$$/fd"), "0\n1\n2\n");
}

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

TEST(our_descriptors_do_not_leak_either)
{
    int before = open_descriptors();
    for (int i = 0; i < 20; i++) {
        struct spawned terminal = {0};
        if (i % 2 == 0) {
            terminal = open_terminal(0);
        }
        struct spawned running = spawn(IPC_SESSION_EXEC, "exit 0");
        ck_assert_uint_eq(running.done, 1);
        if (i % 4 < 2) {
            reap_one(&running);
        }
        ck_assert_uint_eq(release(0), 1);
        waitpid(-1, NULL, 0);
        for (unsigned j = 0; j < running.passed.count; j++) {
            close(running.passed.descriptors[j]);
        }
        if (terminal.done) {
            close(terminal.passed.descriptors[0]);
        }
        ck_assert_int_eq(open_descriptors(), before);
    }
}

/* The daemon resets the signals of its launcher at its start. */
TEST(signals_are_reset)
{
    static const unsigned long standard[8];
    sigset_t all;
    if (SIGCHLD != 17 && unit_is_emulated()) {
        return; /* there /proc has the numbers of the emulator's own signals */
    }
    /* What starts us by glibc's posix_spawn(), as make does, leaves its two signals ignored, and
     * glibc lets nobody change them. */
    syscall(SYS_rt_sigaction, 32, standard, NULL, 8);
    syscall(SYS_rt_sigaction, 33, standard, NULL, 8);
    signal(SIGHUP, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    signals_reset();
    ck_assert(signal(SIGPIPE, SIG_IGN) == SIG_IGN);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    output_of(IPC_SESSION_EXEC, "while read k v; do case $k in SigBlk:|SigIgn:) echo $v;; esac; "
                                "done </proc/self/status");
    /* Twice as many digits on MIPS, which has 127 signals. */
    ck_assert_uint_eq(strspn(out, "0\n"), strlen(out));
    ck_assert_uint_eq(strlen(out), SIGCHLD == 17 ? 34 : 66);
}

TEST(limits_stay_as_they_are)
{
    struct rlimit limit;
    char expected[64];
    getrlimit(RLIMIT_NOFILE, &limit);
    snprintf(expected, sizeof(expected), "%llu\n", (unsigned long long)limit.rlim_cur);
    ck_assert_str_eq(output_of(IPC_SESSION_EXEC, "ulimit -n"), expected);
}

/* The first number of /proc/self/statm. */
static size_t mapped_pages(void)
{
    char line[64];
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), file));
    fclose(file);
    return strtoul(line, NULL, 10);
}

/* Until its exec the child shares our memory, but not our signal mask and dispositions. */
TEST(nothing_of_the_child_stays)
{
    sigset_t before, after;
    sigprocmask(SIG_BLOCK, NULL, &before);
    signal(SIGHUP, SIG_IGN);
    output_of(IPC_SESSION_EXEC, "exit 0");
    sigprocmask(SIG_BLOCK, NULL, &after);
    for (int number = 1; number < NSIG; number++) {
        ck_assert_int_eq(sigismember(&before, number), sigismember(&after, number));
    }
    ck_assert(signal(SIGHUP, SIG_DFL) == SIG_IGN);
}

/* The limit is half of what the stacks would take: an emulator maps pages of its own, too. */
TEST(no_stack_of_a_child_stays)
{
    const size_t programs = 40;
    size_t pages = mapped_pages();
    for (size_t i = 0; i < programs; i++) {
        output_of(IPC_SESSION_EXEC, "exit 0");
    }
    ck_assert_uint_lt(mapped_pages(), pages + programs * 20 / 2);
}

TEST(own_session_and_home)
{
    char expected[SCRATCH_BYTES + 64];
    snprintf(expected, sizeof(expected), "%s\nown\n", scratch);
    ck_assert_str_eq(output_of(IPC_SESSION_EXEC, "pwd; read p c s pp pg sid r </proc/$$/stat; "
                                                 "[ $sid = $$ ] && [ $pg = $$ ] && echo own"),
                     expected);
}

TEST(missing_home)
{
    snprintf(account.home, sizeof(account.home), "%s/none", scratch);
    struct spawned running = spawn(IPC_SESSION_EXEC, "pwd");
    read_all(running.passed.descriptors[1]);
    ck_assert_str_eq(out, "/\n");
    read_all(running.passed.descriptors[2]);
    assert_contains(out, "could not enter home directory ");
    assert_contains(out, "/none: No such file or directory\n");
    ck_assert_uint_eq(reap_one(&running).status, 0);
}

TEST(shell_that_can_not_run)
{
    snprintf(account.shell, sizeof(account.shell), "%s/none", scratch);
    struct spawned running = spawn(IPC_SESSION_EXEC, "true");
    read_all(running.passed.descriptors[2]);
    assert_contains(out, "could not run ");
    ck_assert_uint_eq(reap_one(&running).status, 127);
    ck_assert_uint_eq(release(0), 1);
    scratch_write(scratch, "none", "x", 1, 0644);
    running = spawn(IPC_SESSION_EXEC, "true");
    ck_assert_uint_eq(reap_one(&running).status, 126);
}

/* Of an account without a shell only SFTP runs, whatever the child that reads keys has granted. */
TEST(no_shell)
{
    static const uint32_t kinds[] = {IPC_SESSION_SHELL, IPC_SESSION_EXEC};
    account.shell[0] = '\0';
    for (size_t i = 0; i < 2; i++) {
        struct spawned running = spawn(kinds[i], i == 0 ? "" : "true");
        ck_assert_uint_eq(reap_one(&running).status, 127);
        ck_assert_uint_eq(release(0), 1);
    }
}

/* ---- pseudo-terminals ------------------------------------------------------------------------ */

/* A terminal's end of file is EIO. */
static void read_terminal(int master, struct spawned *running)
{
    int status;
    size_t used = 0;
    pid_t pid = waitpid(-1, &status, 0);
    sessions_reaped(&sessions, pid, status);
    ssize_t count;
    while ((count = read(master, out + used, sizeof(out) - 1 - used)) > 0) {
        used += (size_t)count;
    }
    out[used] = '\0';
    struct ipc_exit ended;
    ck_assert_int_eq(read(running->passed.descriptors[0], &ended, sizeof(ended)), sizeof(ended));
    ck_assert_uint_eq(ended.status, 0);
}

TEST(program_on_a_terminal)
{
    char name[128];
    struct spawned terminal = open_terminal(2);
    assert_started(&terminal, 1);
    int master = terminal.passed.descriptors[0];
    ck_assert_int_eq(ptsname_r(master, name, sizeof(name)), 0);
    struct spawned running =
        spawn_with(2, IPC_SESSION_EXEC, "", 0,
                   "tty; stty size; ls -m /proc/$$/fd; echo $SSH_TTY $TERM; : </dev/tty", "vt100");
    assert_started(&running, 1);
    assert_contains(said, name);
    read_terminal(master, &running);
    char expected[512];
    snprintf(expected, sizeof(expected), "%s\r\n24 80\r\n0, 1, 2\r\n%s vt100\r\n", name, name);
    ck_assert_str_eq(out, expected);
    ck_assert_int_eq(sessions.by_channel[2].terminal, -1);
}

TEST(strange_terminal_names_are_dropped)
{
    struct spawned terminal = open_terminal(0);
    struct spawned running =
        spawn_with(0, IPC_SESSION_EXEC, "", 0, "echo ${TERM-none}", "vt\x1b[100");
    read_terminal(terminal.passed.descriptors[0], &running);
    ck_assert_str_eq(out, "none\r\n");
}

/* A program may close its terminal, and write to it later by /dev/tty. */
TEST(terminal_stays_until_the_program_ends)
{
    struct spawned terminal = open_terminal(0);
    struct pollfd master = {.fd = terminal.passed.descriptors[0]};
    struct spawned running =
        spawn_with(0, IPC_SESSION_EXEC, "", 0,
                   "exec 0<&- 1>&- 2>&-; sleep 0.2; echo late >/dev/tty; exit 3", "");
    ck_assert_int_eq(poll(&master, 1, 100), 0);
    struct ipc_exit ended = reap_one(&running);
    ck_assert_uint_eq(ended.signaled, 0);
    ck_assert_uint_eq(ended.status, 3);
    read_all(master.fd);
    ck_assert_str_eq(out, "late\r\n");
    ck_assert_int_eq(poll(&master, 1, 0), 1);
    ck_assert(master.revents & POLLHUP);
}

TEST(terminal_hangs_up)
{
    int status;
    struct spawned terminal = open_terminal(0);
    struct pollfd master = {.fd = terminal.passed.descriptors[0], .events = POLLIN};
    struct spawned running = spawn_with(0, IPC_SESSION_EXEC, "", 0, "echo up; exec sleep 60", "");
    assert_started(&running, 1);
    ck_assert_int_eq(poll(&master, 1, 20000), 1);
    close(terminal.passed.descriptors[0]);
    alarm(20);
    ck_assert_int_gt(waitpid(-1, &status, 0), 0);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);
}

/* ---- channels -------------------------------------------------------------------------------- */

TEST(channels_have_an_order)
{
    struct spawned running = spawn(IPC_SESSION_EXEC, "sleep 60");
    ck_assert_ptr_null(running.fatal);
    ck_assert_ptr_nonnull(spawn(IPC_SESSION_EXEC, "true").fatal);
    ck_assert_ptr_nonnull(open_terminal(0).fatal);
    kill(sessions.by_channel[0].program, SIGKILL);
    ck_assert_uint_eq(reap_one(&running).signaled, 1);
    ck_assert_ptr_nonnull(spawn(IPC_SESSION_EXEC, "true").fatal);
    ck_assert_uint_eq(release(0), 1);
    ck_assert_ptr_null(open_terminal(0).fatal);
    ck_assert_ptr_nonnull(open_terminal(0).fatal);
    ck_assert_uint_eq(release(0), 1);
    ck_assert_int_eq(sessions.by_channel[0].terminal, -1);
    ck_assert_uint_eq(release(0), 1);
    ck_assert_ptr_null(spawn(IPC_SESSION_EXEC, "true").fatal);
}

TEST(channels_out_of_range)
{
    uint32_t done;
    static const uint32_t channels[] = {LIMIT_CHANNELS, LIMIT_CHANNELS + 1, 0x7fffffff, 0xffffffff};
    for (size_t i = 0; i < 4; i++) {
        const struct ipc_release release_request = {IPC_RELEASE, channels[i]};
        const struct ipc_signal signal_request = {IPC_SIGNAL, channels[i], SIGTERM};
        ck_assert_ptr_nonnull(spawn_with(channels[i], IPC_SESSION_EXEC, "", 0, "true", "").fatal);
        ck_assert_ptr_nonnull(open_terminal(channels[i]).fatal);
        ck_assert_ptr_nonnull(ask(sessions_release, &release_request, &done, NULL));
        ck_assert_ptr_nonnull(ask(sessions_signal, &signal_request, &done, NULL));
    }
    ck_assert_ptr_null(spawn_with(LIMIT_CHANNELS - 1, IPC_SESSION_EXEC, "", 0, "true", "").fatal);
}

TEST(requests_that_break_a_rule)
{
    ck_assert_ptr_nonnull(spawn(0, "true").fatal);
    ck_assert_ptr_nonnull(spawn(4, "true").fatal);
    ck_assert_ptr_nonnull(spawn(IPC_SESSION_SHELL, "true").fatal);
    static const struct {
        const char *bytes;
        size_t count;
    } environments[] = {
        {"LANG=C", 6}, {"LANG", 5},          {"\0", 1},         {"LANG=C\0X", 8},
        {"=C", 3},     {"BASH_ENV=x\0", 11}, {"LANG=C\0\0", 8}, {"LANG=C\0LD_PRELOAD=x", 20},
        {"PATH=x", 7}, {"LANG=/etc", 10},    {"LANG=a\nb", 9},  {"SSH_TTY=x", 10},
    };
    for (size_t i = 0; i < sizeof(environments) / sizeof(environments[0]); i++) {
        struct spawned running = spawn_with(0, IPC_SESSION_EXEC, environments[i].bytes,
                                            environments[i].count, "true", "");
        ck_assert_msg(running.fatal != NULL, "environment %zu", i);
        ck_assert_uint_eq(running.passed.count, 0);
    }
    options.forced_command = "true";
    ck_assert_ptr_nonnull(spawn_with(0, IPC_SESSION_EXEC, "LANG=C", 7, "true", "").fatal);
    ck_assert_int_eq(sessions.by_channel[0].state, SESSION_NONE);
}

TEST(texts_that_break_a_rule)
{
    uint32_t done;
    struct passed passed = {0};
    struct ipc_spawn request = {.type = IPC_SPAWN, .kind = IPC_SESSION_EXEC, .command_bytes = 5};
    ck_assert_ptr_nonnull(ask_program(&request, "tr\0ue", 6, &done, &passed));
    memset(request.term, 'x', sizeof(request.term));
    ck_assert_ptr_nonnull(ask_program(&request, "true ", 6, &done, &passed));
    memset(request.term, 0, sizeof(request.term));
    request.command_bytes = LIMIT_COMMAND_BYTES + 1;
    ck_assert_ptr_nonnull(ask_program(&request, "true ", 6, &done, &passed));
    request.command_bytes = 5;
    request.environment_bytes = LIMIT_ENVIRONMENT_BYTES + 1;
    ck_assert_ptr_nonnull(ask_program(&request, "true ", 6, &done, &passed));
}

TEST(signals_of_the_rfc_only)
{
    static const char named[] = {SIGABRT, SIGALRM, SIGFPE,  SIGHUP,  SIGILL,  SIGINT, SIGKILL,
                                 SIGPIPE, SIGQUIT, SIGSEGV, SIGTERM, SIGUSR1, SIGUSR2};
    uint32_t done;
    for (uint32_t number = 0; number < 300; number++) {
        const struct ipc_signal request = {IPC_SIGNAL, 0, number};
        bool allowed =
            number != 0 && number < 128 && memchr(named, (int)number, sizeof(named)) != NULL;
        const char *fatal = ask(sessions_signal, &request, &done, NULL);
        ck_assert_int_eq(fatal == NULL, allowed);
        ck_assert_uint_eq(done, 0); /* no program runs there */
    }
    struct spawned running = spawn(IPC_SESSION_EXEC, "sleep 60 & wait");
    const struct ipc_signal request = {IPC_SIGNAL, 0, SIGTERM};
    ck_assert_ptr_null(ask(sessions_signal, &request, &done, NULL));
    ck_assert_uint_eq(done, 1);
    ck_assert_uint_eq(reap_one(&running).status, SIGTERM);
    ck_assert_ptr_null(ask(sessions_signal, &request, &done, NULL));
    ck_assert_uint_eq(done, 0);
}

/* ---- how many -------------------------------------------------------------------------------- */

/* A program counts until it is reaped: closing channels and opening new ones does not raise the
 * number of programs. */
TEST(programs_of_released_channels_count)
{
    static const char waiting[] = "read line";
    struct spawned all[LIMIT_CHANNELS];
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        all[i] = spawn(IPC_SESSION_EXEC, waiting);
        assert_started(&all[i], 4);
        ck_assert_uint_eq(release(0), 1);
    }
    struct spawned more = spawn(IPC_SESSION_EXEC, waiting);
    ck_assert_ptr_null(more.fatal);
    ck_assert_uint_eq(more.done, 0);
    ck_assert_uint_eq(more.passed.count, 0);
    assert_contains(said, "event=trouble what=\"no more programs for this connection\"");
    ck_assert_int_eq(sessions.by_channel[0].state, SESSION_NONE);
    /* Reaping one lets one more start. */
    int status;
    close(all[7].passed.descriptors[0]);
    pid_t ended = wait(&status);
    ck_assert_int_gt(ended, 0);
    ck_assert_uint_eq(spawn(IPC_SESSION_EXEC, waiting).done, 0);
    sessions_reaped(&sessions, ended, status);
    more = spawn(IPC_SESSION_EXEC, waiting);
    assert_started(&more, 4);
    ck_assert_uint_eq(release(0), 1);
    ck_assert_uint_eq(spawn(IPC_SESSION_EXEC, waiting).done, 0);
}

static unsigned count_programs(void)
{
    unsigned count = 0;
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        count += sessions.programs[i].pid != 0;
    }
    return count;
}

/* A program that could not start does not count. */
TEST(programs_that_do_not_start_do_not_count)
{
    for (size_t i = 0; i < 2 * LIMIT_CHANNELS; i++) {
        struct spawned running = spawn(IPC_SESSION_SUBSYSTEM, "no-such-thing");
        ck_assert_uint_eq(running.done, 0);
    }
    ck_assert_uint_eq(count_programs(), 0);
    output_of(IPC_SESSION_EXEC, "true");
    ck_assert_uint_eq(count_programs(), 0);
}

/* ---- without resources ----------------------------------------------------------------------- */

TEST(no_descriptors_left)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    for (rlim_t most = 3; most < 24; most++) {
        struct rlimit few = {most, limit.rlim_max};
        int free_before = dup(STDERR_FILENO);
        close(free_before);
        setrlimit(RLIMIT_NOFILE, &few);
        struct spawned running = {0};
        struct ipc_spawn request = {
            .type = IPC_SPAWN, .kind = IPC_SESSION_EXEC, .command_bytes = 4};
        running.fatal = ask_program(&request, "true", 5, &running.done, &running.passed);
        setrlimit(RLIMIT_NOFILE, &limit);
        ck_assert_ptr_null(running.fatal);
        if (running.done) {
            for (unsigned i = 0; i < running.passed.count; i++) {
                close(running.passed.descriptors[i]);
            }
            int status = 0;
            sessions_reaped(&sessions, waitpid(-1, &status, 0), status);
            release(0);
        } else {
            ck_assert_uint_eq(running.passed.count, 0);
            ck_assert_int_eq(sessions.by_channel[0].state, SESSION_NONE);
        }
        int free_after = dup(STDERR_FILENO);
        close(free_after);
        ck_assert_int_eq(free_before, free_after);
    }
    output_of(IPC_SESSION_EXEC, "true");
}

static void spawn_without_processes(void)
{
    const struct rlimit none = {0, 0};
    if (geteuid() == 0 && (setgid(54321) != 0 || setuid(54321) != 0)) {
        _exit(1);
    }
    setrlimit(RLIMIT_NPROC, &none);
    struct spawned running = spawn(IPC_SESSION_EXEC, "true");
    bool clean = running.fatal == NULL && running.done == 0 && running.passed.count == 0 &&
                 sessions.by_channel[0].state == SESSION_NONE &&
                 strstr(said, "event=trouble what=fork") != NULL;
    _exit(clean ? 0 : 2);
}

TEST(no_processes_left)
{
    int status;
    if (fork() == 0) {
        spawn_without_processes();
    }
    ck_assert_int_gt(wait(&status), 0);
    ck_assert_int_eq(status, 0);
}
