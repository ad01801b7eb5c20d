/* Starts a connection, and checks how it has ended. */
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "limit_slots.h"
#include "log.h"
#include "monitor.h"
#include "process.h"

/* After the attacker has finished, all processes of the connection must exit within this time. */
#define EXIT_MS 5000

/* Longer than an attacker waits for a missing reply. */
#define TOTAL_MS 90000

/* Further descriptors that main.c hands to the monitor. */
#define CONNECTION_DESCRIPTOR 6
#define OOM_DESCRIPTOR        7
#define TABLE_DESCRIPTOR      8

/* Above all descriptors with a fixed number. */
#define FREE_DESCRIPTORS 20

/* So few that a leak makes requests fail. */
#define DESCRIPTORS_MAX 64

#define TAIL_BYTES 4096

/* ---- the connection -------------------------------------------------------------------------- */

static void place(int fd, int number)
{
    if (dup3(fd, number, O_CLOEXEC) != number) {
        _exit(99);
    }
}

static int move(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, FREE_DESCRIPTORS);
    close(fd);
    return moved;
}

static void drop_root(const struct world *world)
{
    if (world->as_root && (setgroups(0, NULL) != 0 || !confine_identity(&world->identity))) {
        _exit(99);
    }
}

__attribute__((noreturn)) static void run_attacker(const struct world *world, uint64_t index,
                                                   struct record *record, const int ends[SIDES],
                                                   int busy_pipe, const uint8_t *cookie)
{
    static struct attack attack;
    place(ends[TO_MONITOR], IPC_DESCRIPTOR);
    place(ends[TO_SESSION], SESSION_DESCRIPTOR);
    place(busy_pipe, NULL_DESCRIPTOR);
    descriptors_close_from(NULL_DESCRIPTOR + 1);
    drop_root(world);
    alarm((unsigned)(TOTAL_MS / 1000 * world->slack));
    attack.world = world;
    attack.record = record;
    attack.anybody = attack_kind(index)->anybody;
    attack.full = attack_kind(index)->full;
    memcpy(attack.cookie, cookie, sizeof(attack.cookie));
    attack.dice.state = world->seed * 0x2545f4914f6cdd1d + index;
    attack.sockets[TO_MONITOR] = IPC_DESCRIPTOR;
    attack.sockets[TO_SESSION] = SESSION_DESCRIPTOR;
    attack.busy_pipe = NULL_DESCRIPTOR;
    attack_run(&attack, attack_kind(index));
}

__attribute__((noreturn)) static void run_monitor(const struct world *world, uint64_t index,
                                                  struct record *record, int log, int busy_pipe,
                                                  int table)
{
    static struct options options;
    static char forced[96];
    static struct oom oom;
    static const struct peer peer = {.address = "192.0.2.1", .port = "4711", .has_ip = true};
    const struct rlimit few = {DESCRIPTORS_MAX, DESCRIPTORS_MAX};
    int ends[SIDES][2];
    const struct kind *kind = attack_kind(index);
    options = world->options;
    if (kind->anybody) {
        /* Exits with 7 if it runs as alice. */
        snprintf(forced, sizeof(forced), "test $(id -u) = %u && test $USER = alice && exit 7",
                 (unsigned)world->user);
        options.anybody = "alice";
        options.forced_command = forced;
        options.authkeys[0] = NULL;
    }
    options.user_connections = kind->full ? 1 : UINT32_MAX;
    options.login_seconds = kind->login_seconds > 0 ? kind->login_seconds : 60;
    log = move(log);
    busy_pipe = move(busy_pipe);
    table = move(table);
    oom_raise(&oom, OOM_DESCRIPTOR);
    for (int side = 0; side < SIDES; side++) {
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends[side]) != 0) {
            _exit(99);
        }
        ends[side][0] = move(ends[side][0]);
        ends[side][1] = move(ends[side][1]);
    }
    uint8_t cookie[SSH_COOKIE_BYTES];
    randombytes_buf(cookie, sizeof(cookie));
    pid_t network = fork();
    if (network == 0) {
        const int theirs[SIDES] = {ends[TO_MONITOR][1], ends[TO_SESSION][1]};
        run_attacker(world, index, record, theirs, busy_pipe, cookie);
    }
    place(ends[TO_MONITOR][0], IPC_DESCRIPTOR);
    place(ends[TO_SESSION][0], SESSION_DESCRIPTOR);
    place(STDIN_FILENO, CONNECTION_DESCRIPTOR);
    dup2(log, STDERR_FILENO);
    close(NULL_DESCRIPTOR);
    place(table, TABLE_DESCRIPTOR);
    descriptors_close_from(TABLE_DESCRIPTOR + 1);
    setrlimit(RLIMIT_NOFILE, &few);
    signals_reset(); /* as src/main.c */
    entropy_stop();
    log_open(false, LOG_DETAIL);
    log_peer(peer.address, peer.port);
    struct admission admission = {
        .fd = TABLE_DESCRIPTOR, .limit = LIMIT_SLOTS_LEAST, .pid = getpid(), .uid = geteuid()};
    const struct monitor_setup setup = {.options = &options,
                                        .peer = &peer,
                                        .identity = &world->identity,
                                        .oom = &oom,
                                        .admission = &admission,
                                        .cookie = cookie,
                                        .ipc = IPC_DESCRIPTOR,
                                        .connection = CONNECTION_DESCRIPTOR,
                                        .network = network};
    _exit(network < 0 ? 99 : monitor_run(&setup));
}

/* ---- the log --------------------------------------------------------------------------------- */

struct trial {
    const struct world *world;
    uint64_t index;
    struct record *record;
    pid_t monitor;
    int log; /* the monitor and the session process hold the other end */
    int busy_pipe;
    int64_t total_ms; /* by then the sequence must have ended */
    int64_t
        exit_ms; /* by then all processes must have exited; set when the attacker has finished */
    bool wrong;
    unsigned ends;
    bool ends_last;
    unsigned logins;
    char reason[RECORD_TEXT_BYTES];
    size_t line_bytes;
    char line[2048];
    size_t tail_bytes;
    char tail[TAIL_BYTES]; /* the end of the log */
};

__attribute__((format(printf, 2, 3))) static void fail(struct trial *trial, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "%s %llu (%s): ", trial->wrong ? "          " : "sequence",
            (unsigned long long)trial->index, attack_kind(trial->index)->name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    trial->wrong = true;
}

/* reason="..." or reason=word, the last of the line. */
static void take_reason(struct trial *trial, const char *line)
{
    const char *at = strstr(line, " reason=");
    if (at != NULL) {
        at += strlen(" reason=");
        at += *at == '"' ? 1 : 0;
        snprintf(trial->reason, sizeof(trial->reason), "%.*s", (int)strcspn(at, "\""), at);
    }
}

static void take_line(struct trial *trial, const char *line)
{
    int pid = 0, name = 0;
    trial->ends_last = false;
    if (strstr(line, "Sanitizer") != NULL || strstr(line, "runtime error") != NULL) {
        fail(trial, "a sanitizer reports: %s", line);
    }
    sscanf(line, "wrensshd[%d]: event=%n", &pid, &name);
    if (name == 0) {
        fail(trial, "not a line of the log: %s", line);
    } else if (strncmp(line + name, "end ", 4) == 0) {
        trial->ends++;
        trial->ends_last = true;
        take_reason(trial, line);
        if (pid != trial->monitor) {
            fail(trial, "another process logged the end");
        }
    } else if (strncmp(line + name, "login ", 6) == 0 &&
               strstr(line, " verdict=accepted") != NULL) {
        trial->logins++;
    }
}

static void keep_tail(struct trial *trial, char byte)
{
    if (trial->tail_bytes == sizeof(trial->tail) - 1) {
        memmove(trial->tail, trial->tail + sizeof(trial->tail) / 2,
                trial->tail_bytes - sizeof(trial->tail) / 2);
        trial->tail_bytes -= sizeof(trial->tail) / 2;
    }
    trial->tail[trial->tail_bytes++] = byte;
    trial->tail[trial->tail_bytes] = '\0';
}

/* False at the end of the log. */
static bool take_log(struct trial *trial)
{
    char bytes[4096];
    ssize_t count = read(trial->log, bytes, sizeof(bytes));
    for (ssize_t i = 0; i < count; i++) {
        keep_tail(trial, bytes[i]);
        if (bytes[i] == '\n' || trial->line_bytes == sizeof(trial->line) - 1) {
            trial->line[trial->line_bytes] = '\0';
            take_line(trial, trial->line);
            trial->line_bytes = 0;
        } else {
            trial->line[trial->line_bytes++] = bytes[i];
        }
    }
    return count > 0;
}

/* ---- processes ------------------------------------------------------------------------------- */

static int64_t deadline_of(const struct trial *trial)
{
    return trial->exit_ms < trial->total_ms ? trial->exit_ms : trial->total_ms;
}

static void note_attacker_finished(struct trial *trial)
{
    if (trial->exit_ms == INT64_MAX) {
        trial->exit_ms = clock_now_ms() + (int64_t)(EXIT_MS * trial->world->slack);
    }
}

/* Reads the log until the monitor and the session process have exited. */
static void follow(struct trial *trial)
{
    for (;;) {
        bool watches = trial->exit_ms == INT64_MAX;
        struct pollfd waiting[] = {{.fd = trial->log, .events = POLLIN},
                                   {.fd = watches ? trial->busy_pipe : -1}};
        int ready = poll(waiting, 2, clock_timeout_ms(deadline_of(trial)));
        if (ready == 0) {
            fail(trial, "the monitor or the session process still runs");
            return;
        }
        if (waiting[1].revents != 0) {
            note_attacker_finished(trial);
        }
        if (waiting[0].revents != 0 && !take_log(trial)) {
            note_attacker_finished(trial);
            return;
        }
    }
}

/* Our oldest child, or 0. As a subreaper this process adopts all orphans of the connection. */
static pid_t first_child(char name[static 64])
{
    char path[64];
    char list[256] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd >= 0 ? read(fd, list, sizeof(list) - 1) : -1;
    close(fd);
    list[count > 0 ? count : 0] = '\0';
    int pid = atoi(list);
    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    count = fd >= 0 ? read(fd, name, 63) : -1;
    close(fd);
    name[count > 1 ? count - 1 : 0] = '\0';
    return pid;
}

static void kill_all(void)
{
    char name[64];
    pid_t pid;
    while ((pid = first_child(name)) > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

static void judge_status(struct trial *trial, int status)
{
    const struct record *record = trial->record;
    if (!WIFEXITED(status)) {
        fail(trial, "the monitor died by signal %d", WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 111) {
        fail(trial, "the monitor's exit status is %d", WEXITSTATUS(status));
    } else if (record->status >= 0 && WEXITSTATUS(status) != record->status) {
        fail(trial, "the exit status is %d in place of %d", WEXITSTATUS(status), record->status);
    }
}

static void reap(struct trial *trial)
{
    char name[64];
    int status;
    for (;;) {
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid < 0) {
            return;
        }
        if (pid == trial->monitor) {
            judge_status(trial, status);
        } else if (pid == 0 && clock_now_ms() >= deadline_of(trial)) {
            pid = first_child(name);
            fail(trial, "process %d (%s) still runs", (int)pid, name);
            kill_all();
        } else if (pid == 0) {
            poll(NULL, 0, 1);
        }
    }
}

static void judge(struct trial *trial)
{
    const struct record *record = trial->record;
    if (record->violation[0] != '\0') {
        fail(trial, "%s", record->violation);
    }
    /* The monitor waits for LIMIT_SESSION_EXIT_MS, and where all is slow that may not be enough. */
    bool in_order = trial->ends_last || trial->world->slack > 1;
    if (trial->ends != 1 || !in_order) {
        fail(trial, "%u lines log the end%s", trial->ends,
             in_order ? "" : ", and more lines follow");
    } else if (trial->reason[0] == '\0') {
        fail(trial, "the end has no reason");
    } else if (record->reason[0] != '\0' && strcmp(trial->reason, record->reason) != 0) {
        fail(trial, "ended by <%s> in place of <%s>", trial->reason, record->reason);
    }
    if (trial->logins > (record->signed_properly ? 1 : 0)) {
        fail(trial, "%u logins in the log%s", trial->logins,
             record->signed_properly ? "" : " without the listed key's signature");
    }
}

bool judge_sequence(const struct world *world, uint64_t index, struct record *record)
{
    static struct trial trial;
    int log[2], busy_pipe[2];
    memset(record, 0, offsetof(struct record, login));
    memset(&trial, 0, sizeof(trial));
    record->status = -1;
    if (pipe2(log, O_CLOEXEC) != 0 || pipe2(busy_pipe, O_CLOEXEC) != 0) {
        perror("pipe");
        exit(2);
    }
    trial.world = world;
    trial.index = index;
    trial.record = record;
    trial.log = log[0];
    trial.busy_pipe = busy_pipe[0];
    trial.exit_ms = INT64_MAX;
    trial.total_ms = clock_now_ms() + (int64_t)(2 * TOTAL_MS * world->slack);
    const int table = table_make(world, attack_kind(index)->full);
    trial.monitor = fork();
    if (trial.monitor == 0) {
        run_monitor(world, index, record, log[1], busy_pipe[1], table);
    }
    close(log[1]);
    close(busy_pipe[1]);
    follow(&trial);
    reap(&trial);
    judge(&trial);
    const char *wrong =
        table_judge(world, table, attack_kind(index)->full, trial.logins, record->signed_properly);
    if (wrong != NULL) {
        fail(&trial, "%s", wrong);
    }
    close(table);
    close(log[0]);
    close(busy_pipe[0]);
    if (trial.wrong) {
        fprintf(stderr, "---- its log:\n%s----\n", trial.tail);
    }
    return !trial.wrong;
}
