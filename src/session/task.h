/*
 * What a session runs: the client's choice, a configured subsystem, or a forced command.
 */
#ifndef WREN_TASK_H
#define WREN_TASK_H

#include <stdbool.h>

#include "account.h"
#include "grant.h"
#include "ipc.h"

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

#endif
