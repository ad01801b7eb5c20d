/*
 * What the session process must do, by a second reading of ipc.h: which requests are allowed, what
 * each program is started with, who may be signaled, which descriptors stay open.
 */
#ifndef WREN_SESSION_MODEL_H
#define WREN_SESSION_MODEL_H

#include "fuzz.h"
#include "grant.h"
#include "ipc.h"
#include "users.h"

enum fd_kind {
    FD_SESSION = 1,
    FD_SIGNALS,
    FD_LIFELINE,
    FD_PIPE,
    FD_MASTER,
    FD_SLAVE,
    FD_REPORT,
    FD_REPORTER,
    FD_PROGRAM,
    FD_MONITORS,
    FD_STANDARD
};

enum channel_state { CHANNEL_NONE, CHANNEL_TERMINAL, CHANNEL_RUNNING, CHANNEL_ENDED };

struct model_program {
    pid_t pid; /* 0: reaped */
    bool ended;
    int status;
    bool is_sftp;
    bool report_open;
};

extern struct session_model {
    const struct session_options *options;
    const struct grant *grant;
    const struct account *account;
    bool has_address;
    struct {
        enum channel_state state;
        bool has_terminal; /* from PTY to the end of the program or of the channel */
        int terminal;
        int exit_pipe; /* its number */
        struct model_program *program;
    } channels[LIMIT_CHANNELS];
    struct model_program programs[LIMIT_CHANNELS];

    bool broken; /* a rule is broken: no reply, a reason, exit code 111 */
    bool due;    /* a reply must come */
    bool failed; /* the system has refused something to the present request */
    uint32_t type, channel, kind, signal_number;
    const uint8_t *tail;
    size_t environment_bytes, command_bytes;
    bool may_start, started, signaled;
    const char *forced;
    int next_pipe, next_terminal, first_pipe; /* of this request */
    pid_t next_pid;
} session;

void session_request(const uint8_t *bytes, size_t count, bool cut);

/* The child executes this; `arguments` is NULL for a child that only refuses. */
void session_check_exec(const char *path, char *const *arguments, char *const *environment);
void session_child_refuses(void);

/* The child runs now; returns its process id. */
pid_t session_started(void);
bool session_may_signal(pid_t pid, int number);

/* Checks a reply, and which descriptors travel with it. */
void session_check_reply(const void *reply, size_t bytes, const int *passed, size_t count);

/* Between two requests. */
void session_check_descriptors(void);

#endif
