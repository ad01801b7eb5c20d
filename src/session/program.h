/*
 * A session's program: from the child's start to exec.
 */
#ifndef WREN_PROGRAM_H
#define WREN_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "account.h"
#include "peer.h"

struct program {
    const struct account *account;
    const struct peer *peer;
    const char *command;          /* for the shell's -c, or NULL for a login shell */
    const char *original_command; /* SSH_ORIGINAL_COMMAND, or NULL */
    const char *term;             /* TERM, used only with a terminal */
    const char *terminal_name;    /* SSH_TTY, or NULL */
    const char *environment;      /* "NAME=VALUE\0"... of the client, checked */
    size_t environment_bytes;
    const char *grant_environment; /* the same of the key's line; it wins over the client's and
                                      ours, but for SSH_* */
    size_t grant_environment_bytes;
    int standard[3]; /* what becomes 0, 1 and 2 */
};

/*
 * Starts the program in a child: own session and controlling terminal, signals and descriptors as
 * at boot, home directory, an environment built from nothing, exec. The child says on the session's
 * stderr what went wrong; it exits 127 if the shell is missing, 126 if it can't be run.
 *
 * Returns its pid, or -1 with errno.
 */
pid_t program_start(struct program *program);

#endif
