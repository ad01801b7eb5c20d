/*
 * The sessions of a logged-in user: pseudo-terminals, programs, their ends. The process is the
 * user already, so that nothing here needs or drops a privilege.
 */
#ifndef WREN_SESSIONS_H
#define WREN_SESSIONS_H

#include <stdbool.h>
#include <sys/types.h>

#include "account.h"
#include "grant.h"
#include "ipc.h"
#include "options.h"
#include "peer.h"
#include "requests.h"
#include "streams.h"

enum session_state {
    SESSION_NONE,
    SESSION_TERMINAL, /* has a pseudo-terminal and no program yet */
    SESSION_RUNNING,
    SESSION_ENDED, /* its program has ended, the channel has not */
};

struct session {
    enum session_state state;
    int terminal; /* slave of the pseudo-terminal until the program has it, else -1 */
    char terminal_name[TERMINAL_NAME_BYTES];
    int exit_pipe; /* our end while the program runs, else -1 */
    pid_t program; /* not reaped yet while SESSION_RUNNING, so that the number is still its own */
};

struct sessions {
    const struct options *options;
    const struct peer *peer;
    const struct account *account;
    const struct grant *grant;      /* of the key that logged in */
    pid_t programs[LIMIT_CHANNELS]; /* not reaped yet, those of released channels as well; else 0 */
    struct session by_channel[LIMIT_CHANNELS]; /* index: the channel number */
};

void sessions_init(struct sessions *sessions, const struct options *options,
                   const struct peer *peer, const struct account *account,
                   const struct grant *grant);

/*
 * Each answers one request: sets *done to 0 after logging why it failed, else to 1, and fills in
 * what to pass. Returns NULL, or why the connection must end: a channel that does not exist or is
 * in another state, a value out of range, a text with a NUL, an environment that the rules forbid,
 * a signal that the RFC does not name. A NUL follows `tail`.
 */
const char *sessions_terminal(struct sessions *sessions, const struct ipc_pty *request,
                              uint32_t *done, struct passed *passed);
const char *sessions_program(struct sessions *sessions, const struct ipc_spawn *request,
                             const char *tail, uint32_t *done, struct passed *passed);
const char *sessions_signal(struct sessions *sessions, const struct ipc_signal *request,
                            uint32_t *done);
const char *sessions_release(struct sessions *sessions, const struct ipc_release *request,
                             uint32_t *done);

/* A program was reaped: if its channel is still open, its exit goes down the exit pipe. */
void sessions_reaped(struct sessions *sessions, pid_t pid, int status);

#endif
