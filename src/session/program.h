/*
 * Starts a session's program: the child's work from its start to execve(2).
 */
#ifndef WREN_PROGRAM_H
#define WREN_PROGRAM_H

#include <stddef.h>
#include <sys/types.h>

#include "account.h"
#include "peer.h"
#include "task.h"

struct program {
    const struct account *account;
    const struct peer *peer;
    const struct task *task;
    int report;                /* >= 0: the task is our own SFTP server, which reports to this
                                  socket */
    const char *term;          /* TERM, used only with a terminal */
    const char *terminal_name; /* SSH_TTY, or NULL */
    const char *environment;   /* the client's "NAME=VALUE\0"..., checked */
    size_t environment_bytes;
    const char *key; /* the fingerprint of the key that logged in; NULL if none did */
    const struct grant *grant;
    size_t grant_environment_bytes; /* of what the key's line sets: it overrides the client's
                                       variables and ours, except SSH_* and TERM */
    int standard[3];                /* become descriptors 0, 1 and 2 */
    pid_t session;                  /* the process that starts it: program_start() sets this */
};

/*
 * Starts the program in a child: a new session with its controlling terminal, default signals, no
 * descriptors but 0 to 2 (the SFTP server also has 3, sftp_report.h), the home directory, an
 * environment that inherits nothing, then execve(2) or execveat(2). The child reports errors on the
 * session's stderr. It exits with 127 if the shell is missing, with 126 if it can't be run.
 *
 * Returns the child's pid, or -1 with errno.
 */
pid_t program_start(struct program *program);

#endif
