/*
 * The sessions of a logged-in user (RFC 4254 section 6), one for each channel: pseudo-terminals,
 * programs, their exits. The process already runs as the user: nothing here needs or gives up a
 * privilege.
 */
#ifndef WREN_SESSIONS_H
#define WREN_SESSIONS_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "account.h"
#include "grant.h"
#include "ipc.h"
#include "peer.h"
#include "request_serve.h"
#include "sftp_report.h"
#include "streams.h"
#include "text.h"

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
 * Each function answers one request, as a handler of requests.h does; `process` is a struct
 * sessions. It sets `done` of the reply
 * to 1 and fills in the descriptors to pass. If the request fails, it logs why and leaves `done`
 * at 0. It returns NULL, or the reason why the connection must end: a channel number out of range
 * or a channel in another state, a value out of range, a text with a NUL, a variable that a client
 * may not set, a signal that RFC 4254 does not name.
 */
const char *sessions_terminal(void *process, const void *pty, struct reply *reply);
const char *sessions_program(void *process, const void *spawn, struct reply *reply);
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

/* ---- makes this process run as the user ------------------------------------------------------ */

/*
 * Sets the supplementary groups, the real, effective and saved gid and uid, and clears the
 * inheritable capabilities; then verifies that the process can't become root again. A process that
 * is not root checks that it already runs as the user, and gives up all capabilities: its launcher
 * may have kept some for it (AmbientCapabilities= of systemd). The bounding set stays, as sudo
 * needs it. Makes the process non-dumpable. Returns 0, or -1 with errno: then the process must
 * exit.
 */
int account_become(const struct account *account, const struct account_groups *groups);

/* ---- session_requests.c: the table of requests ----------------------------------------------- */

/* Room for any request, and its alignment. */
union session_request {
    uint32_t type;
    struct ipc_pty pty;                           /* has the strictest alignment */
    uint8_t bytes[IPC_SESSION_REQUEST_BYTES + 1]; /* request_serve() adds a NUL */
};

/* Receives one request from SESSION_DESCRIPTOR into `request` and answers it, as request_serve()
 * does. */
enum request_outcome session_requests_serve(struct sessions *sessions,
                                            union session_request *request, const char **wrong);

/* ---- reports of wrensshd-sftp become lines of the log ---------------------------------------- */

/* Opens a socket pair, close-on-exec: ends[0] for this process, ends[1] for the SFTP server.
 * Returns 0, or -1 with errno. */
int sftp_reports_open(int ends[2]);

/* Reads reports that have come, all that a server sends at its end, and logs each. Never waits.
 * Sets *last if one was the last. Returns false if the server has closed its end. */
bool sftp_reports_read(int fd, const struct sftp_origin *origin, bool *last);

/* Logs the end of a server that has sent no last report: `status` is that of waitpid(2). */
void sftp_reports_end(int status, const struct sftp_origin *origin);

#endif
