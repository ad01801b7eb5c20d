/*
 * What the files of this room share: what a session runs, its streams, and its processes.
 */
#ifndef WREN_SESSION_INTERNAL_H
#define WREN_SESSION_INTERNAL_H

#include <poll.h>

#include "base.h"
#include "grant.h"
#include "ipc.h"
#include "log.h"
#include "process.h"
#include "users.h"

/* ---- tasks, task.c --------------------------------------------------------------------------- */

/* What a session runs: the client's choice, a configured subsystem, or a forced command. */

struct task {
    const char *client;   /* what the client sent: a command or a subsystem's name */
    const char *command;  /* the command that runs; NULL for a login shell */
    const char *original; /* with a forced command, the client's; else NULL */
    bool is_sftp;         /* the command is GRANT_INTERNAL_SFTP, which needs no shell */
    bool through_shell;   /* the account's shell starts it, as that may restrict */
    bool wants_other;     /* is_sftp, and the client asked for no subsystem */
    const char *refused;  /* why nothing runs, or NULL */
};

/* Returns the command that must run; the administrator's takes precedence over the key's. NULL if
 * the client may choose. */
const char *task_forced(const struct session_options *options, const struct grant *grant);

/* Decides what a request of this kind (IPC_SESSION_*) runs. `command` is what the client sent. The
 * strings of the result are those of the arguments. */
struct task task_choose(const struct session_options *options, const struct grant *grant,
                        const struct account *account, uint32_t kind, const char *command);

/* ---- streams of a program -------------------------------------------------------------------- */

/* The descriptors between a program and the network process: its standard streams, on pipes or on a
 * pseudo-terminal, and the exit pipe, which reports how the program ended. */

/* ---- pipes, streams.c ------------------------------------------------------------------------ */

enum { STREAM_STDIN, STREAM_STDOUT, STREAM_STDERR, STREAM_EXIT, STREAMS };

/* Both ends of each pipe, from their opening until they are passed on. -1 where there is none. */
struct streams {
    int ours[STREAMS];   /* for the network process; non-blocking */
    int theirs[STREAMS]; /* for the program; of the exit pipe, for this process */
};

/* Opens all four pipes, close-on-exec; on a terminal only the exit pipe. Returns 0, or -1 with
 * errno and nothing left open. */
int streams_open(struct streams *streams, bool on_terminal);

/* Closes the ends that are open, and sets them to -1. */
void streams_close(int ends[static STREAMS]);

/* ---- pseudo-terminals, streams.c ------------------------------------------------------------- */

/* "/dev/pts/" and a number. */
#define TERMINAL_NAME_BYTES 32

/*
 * Opens a pseudo-terminal with the requested modes and size; the kernel checks both. The user owns
 * it, because this process runs as the user. Sets *slave (blocking) and its name. It does not
 * become the controlling terminal of this process.
 * Returns the master, non-blocking, or -1 with errno.
 */
int streams_open_terminal(int *slave, char name[static TERMINAL_NAME_BYTES],
                          const struct ipc_pty *request);

/* ---- the child, child.c ---------------------------------------------------------------------- */

/* Starts a child that will execute another program. */

/* For the words and the environment of a program; program.c asserts that they fit. */
#define CHILD_MEMORY_BYTES ((size_t)288 * 1024)

/*
 * Starts a child that calls `run(argument, memory)`, which must end in execve(2) or _exit(2).
 * `memory` is CHILD_MEMORY_BYTES, aligned for any type: zeros, or what the last child left there.
 *
 * Uses clone(2) with CLONE_VM and CLONE_VFORK instead of fork(2): copying the page tables, and the
 * page faults that follow, took a third of the time of starting a program. So until the exec the
 * child shares our memory:
 *
 * - It has its own stack. It may write only to that stack, to `memory` and to errno.
 * - The process must have no signal handlers, because one could run in the child.
 * - Large objects belong in `memory`: in a large stack frame the compiler writes to each page, and
 *   so the kernel would allocate all of them.
 *
 * The parent waits until the exec. If a file system hangs, all sessions of the connection wait; the
 * network process still notices when the client leaves.
 *
 * Returns the child's pid, or -1 with errno.
 */
pid_t child_start(int (*run)(void *argument, void *memory), void *argument);

/* Gives back the pages that children have used. Until then the last program's environment stays in
 * the memory of this process, which is the same user's and not dumpable. */
void child_give_back(void);

/* ---- the program, program.c ------------------------------------------------------------------ */

/* Starts a session's program: the child's work from its start to execve(2). */

struct program {
    const struct sessions *sessions;
    const struct ipc_spawn *request; /* checked */
    const struct task *task;
    int report;                /* if not -1, our own SFTP server runs, and reports to this socket */
    const char *terminal_name; /* SSH_TTY, or NULL */
    /* Of what the key's line sets: it overrides the client's variables and ours, except SSH_* and
     * TERM. */
    size_t grant_environment_bytes;
    int standard[3]; /* become descriptors 0, 1 and 2 */
    pid_t session;   /* the process that starts it: program_start() sets this */
};

/*
 * Starts the program in a child: a new session with its controlling terminal, default signals, no
 * descriptors but 0 to 2 (the SFTP server also has 3, grant.h), the home directory, an
 * environment that inherits nothing, then execve(2) or execveat(2). The child reports errors on the
 * session's stderr. It exits with 127 if the shell is missing, with 126 if it can't be run.
 *
 * Returns the child's pid, or -1 with errno.
 */
pid_t program_start(struct program *program);

/* ---- sessions, sessions.c -------------------------------------------------------------------- */

/* The sessions of a logged-in user (RFC 4254 section 6), one for each channel: pseudo-terminals,
 * programs, their exits. The process already runs as the user: nothing here needs or gives up a
 * privilege. */

enum session_state {
    SESSION_NONE,
    SESSION_TERMINAL, /* has a pseudo-terminal but no program yet */
    SESSION_RUNNING,
    SESSION_ENDED, /* its program has ended, the channel is still open */
};

struct session {
    enum session_state state;
    /* The pseudo-terminal's slave until the program has ended, else -1. A program may close all of
     * its own, and open /dev/tty later: without this one the terminal would hang up in between. */
    int terminal;
    char terminal_name[TERMINAL_NAME_BYTES];
    int exit_pipe; /* our end while the program runs; else -1 */
    pid_t program; /* valid while SESSION_RUNNING: not reaped, so the kernel has not reused it */
};

/* A program that is not reaped, also of a channel that was closed. */
struct running {
    pid_t pid;        /* 0: the row is free */
    int report;       /* an SFTP server's reports, until it closes its end; else -1 */
    uint32_t channel; /* that it was started for */
    bool is_sftp;
    bool reported; /* the SFTP server has sent its last report */
};

struct sessions {
    const struct session_options *options;
    const struct peer *peer;
    const struct account *account;
    const struct grant *grant;   /* of the key that logged in */
    char key[FINGERPRINT_BYTES]; /* its fingerprint, for the log; "-" with -N */
    struct running programs[LIMIT_CHANNELS];
    struct session by_channel[LIMIT_CHANNELS]; /* index: the channel number */
};

void sessions_init(struct sessions *sessions, const struct session_options *options,
                   const struct peer *peer, const struct account *account,
                   const struct grant *grant);

/*
 * Each function answers one request, as `handle` of struct request_row does (ipc.h); `process` is
 * a struct sessions. It sets `done` of the reply to 1 and fills in the descriptors to pass. If the
 * request fails, it logs why and leaves `done` at 0. It returns NULL, or the reason why the
 * connection must end: a channel number out of range or a channel in another state, a value out of
 * range, a text with a NUL, a variable that a client may not set, a signal that RFC 4254 does not
 * name.
 */
const char *sessions_pty(void *process, const void *pty, struct reply *reply);
const char *sessions_spawn(void *process, const void *spawn, struct reply *reply);
const char *sessions_signal(void *process, const void *signal, struct reply *reply);
const char *sessions_release(void *process, const void *release, struct reply *reply);

/* Fills in what to wait for besides requests: the reports of SFTP servers that are not reaped, with
 * -1 for one that has closed its end. Returns how many. */
size_t sessions_watch(const struct sessions *sessions,
                      struct pollfd waiting[static LIMIT_CHANNELS]);

/* Reads and logs the reports that have come. */
void sessions_reports(struct sessions *sessions);

/* Call after reaping a child. If it is the program of an open channel, its exit is written to the
 * exit pipe. */
void sessions_reaped(struct sessions *sessions, pid_t pid, int status);

/* ---- makes this process run as the user, account_become.c ------------------------------------ */

/*
 * Sets the supplementary groups, the real, effective and saved gid and uid, and clears the
 * inheritable capabilities; then verifies that the process can't become root again. A process that
 * is not root checks that it already runs as the user, and gives up all capabilities: its launcher
 * may have kept some for it (AmbientCapabilities= of systemd). The bounding set stays, as sudo
 * needs it. Root also sets the kernel's audit ID, if there is none. Makes the process non-dumpable.
 * Returns 0, or -1 with errno: then the process must exit.
 */
int account_become(const struct account *account, const struct account_groups *groups);

/* ---- requests, session_ipc.c ----------------------------------------------------------------- */

/* Room for any request, and its alignment. */
union session_request {
    uint32_t type;
    struct ipc_pty pty;                           /* has the strictest alignment */
    uint8_t bytes[IPC_SESSION_REQUEST_BYTES + 1]; /* ipc_serve() adds a NUL */
};

/* Receives one request from SESSION_DESCRIPTOR into `request` and answers it, as ipc_serve()
 * does. */
enum request_outcome session_ipc_serve(struct sessions *sessions, union session_request *request,
                                       const char **wrong);

/* ---- reports of wrensshd-sftp become lines of the log, streams.c ----------------------------- */

/* Reads reports that have come, all that a server sends at its end, and logs each. Never waits.
 * Sets *last if one was the last. Returns false if the server has closed its end. */
bool sftp_reports_read(int fd, const struct sftp_origin *origin, bool *last);

/* Logs the end of a server that has sent no last report: `status` is that of waitpid(2). */
void sftp_reports_end(int status, const struct sftp_origin *origin);

#endif
