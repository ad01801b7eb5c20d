/*
 * The command line, parsed once in options.c before the processes part, constant ever after.
 */
#ifndef WREN_OPTIONS_H
#define WREN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "limit.h"

/* A subsystem of -x: both strings point into argv. */
struct subsystem {
    const char *name;
    size_t name_bytes;
    const char *command;
};

struct options {
    const char *keydir;
    int key_descriptor;         /* of a keydir "fd:N"; 0 for none */
    int verbosity;              /* -1 with -q, 0, then one for each -v */
    bool syslog;                /* -l */
    bool no_sntrup;             /* -P: no sntrup761x25519-sha512 */
    bool no_curve25519;         /* -S: no curve25519-sha256 */
    bool best_effort;           /* -B: serve even if a sandbox layer is missing */
    const char *forced_command; /* -e, or NULL */
    const char *authkeys;       /* -a pattern with %u and %h, or NULL for ~/.ssh/authorized_keys */
    const char *authorities;    /* -c: a file of keys, or NULL */
    const char *revoked;        /* -R: a file, or NULL */
    const char *group;          /* -g, or NULL */
    bool no_root;               /* -r */
    bool user_environment;      /* -E: environment= of authorized_keys counts */
    unsigned login_seconds;     /* -t */
    unsigned idle_seconds;      /* -i, 0 for no limit */
    unsigned attempts;          /* -m */
    size_t subsystem_count;
    struct subsystem subsystems[LIMIT_SUBSYSTEMS];
};

/*
 * Reads argv, NULL behind its last, into `options` (wiped and set to the defaults first). Returns 0
 * to go on; on -h, -V and wrong usage it has printed what the user needs and sets *status to the
 * exit code (0, or 100) and returns -1.
 */
int options_parse(struct options *options, char **argv, int *status);

#endif
