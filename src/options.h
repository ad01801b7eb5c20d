/*
 * The command line. options.c parses it before the first fork; later nothing changes it.
 */
#ifndef WREN_OPTIONS_H
#define WREN_OPTIONS_H

#include "base.h"
#include "grant.h"

struct options {
    const char *keydir;
    int key_descriptor;         /* N of a keydir "fd:N", else 0 */
    int8_t verbosity;           /* -1 with -q, 0, then one for each -v, up to 2 */
    bool syslog;                /* -l */
    bool no_sntrup;             /* -P: no sntrup761x25519-sha512 */
    bool no_curve25519;         /* -S: no curve25519-sha256 */
    bool best_effort;           /* -B: serve even if a sandbox layer is missing */
    const char *forced_command; /* -e, or NULL */
    /* -a: patterns with %u and %h; NULL after the last one, of at most four */
    const char *authkeys[LIMIT_KEY_FILES];
    const char *authorities;    /* -c: a file of keys, or NULL */
    const char *revoked;        /* -R: a file, or NULL */
    const char *banner;         /* -b: a file, or NULL */
    bool no_root;               /* -r */
    bool check;                 /* -T: serve nobody */
    bool check_all;             /* -A: whether each account with keys could log in */
    const char *check_user;     /* -u, or NULL */
    bool user_environment;      /* -E: apply environment= of authorized_keys */
    const char *anybody;        /* -N: anybody logs in, without a key, as this user; or NULL */
    unsigned login_seconds;     /* -t */
    unsigned idle_seconds;      /* -i, 0 for no limit */
    unsigned life_seconds;      /* -M, 0 for no limit */
    unsigned keepalive_seconds; /* -k, 0 for none */
    unsigned attempts;          /* -m */
    const char *groups[LIMIT_ALLOWED_GROUPS]; /* -g; NULL after the last one */
    unsigned user_connections;                /* -U, 0 for no limit, UINT32_MAX by memory */
    const char *reserve_group;                /* -G, or NULL */
    size_t subsystem_count;
    struct subsystem subsystems[LIMIT_SUBSYSTEMS];
};

/*
 * Parses argv, which ends with NULL, into `options`, which first gets the defaults. Returns 0 if
 * the daemon may start. With -h or -V, or if the command line is wrong, prints a text for the user,
 * sets *status to the exit code (0 or EXIT_USAGE) and returns -1.
 */
int options_parse(struct options *options, char **argv, int *status);

/* Reads the banner of -b, if there is one. One that can't be used is logged, and locks nobody out:
 * then returns false. */
bool options_banner(struct banner *banner, const struct options *options);

/* ---- the check of -T, check.c ---------------------------------------------------------------- */

/*
 * -T: writes on stdout what a login would meet, as lines of the log, and serves nobody. It asks
 * what a login asks: the sandbox in a child, and the child that reads keys.
 */

/* With -A, of several accounts not all could log in. */
#define EXIT_SOME 1

/* Returns the exit code: 0 if a login could work, EXIT_SOME, EXIT_USAGE if something prevents it or
 * the banner is unusable.
 * Trick: own frame, as of the programs in tools.h. */
__attribute__((noinline)) int check_run(const struct options *options);

#endif
