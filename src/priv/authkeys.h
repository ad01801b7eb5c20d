/*
 * Does a user's authorized_keys list a key? Only a short-lived child that has become the user
 * ever opens the file; the monitor gets a verdict of fixed size.
 */
#ifndef WREN_AUTHKEYS_H
#define WREN_AUTHKEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "account.h"
#include "hostkey.h"
#include "limit.h"

enum authkeys_reason {
    AUTHKEYS_LISTED = 1,
    AUTHKEYS_NOT_LISTED,
    AUTHKEYS_HAS_OPTIONS, /* on `line`, and on no line without */
    AUTHKEYS_MISSING,
    AUTHKEYS_UNREADABLE,
    AUTHKEYS_NOT_REGULAR,
    AUTHKEYS_UNSAFE_OWNER, /* `path` is owned by `owner` */
    AUTHKEYS_UNSAFE_MODE,  /* `path` is writable by group or others */
    AUTHKEYS_BAD_PATTERN,  /* of -a: an unknown %x, or too long when expanded */
    AUTHKEYS_NO_USER,      /* the child could not become the user */
    AUTHKEYS_NO_CHILD,     /* there was no child, or it died or took too long */
    AUTHKEYS_REASONS,
};

/* No padding: the child writes it to a pipe as it is. */
struct authkeys_verdict {
    uint32_t reason; /* enum authkeys_reason */
    uint32_t line;   /* counted from 1; 0 if there is none */
    uint32_t owner;
    uint32_t mode;
    uint32_t error; /* errno of AUTHKEYS_MISSING and AUTHKEYS_UNREADABLE */
    char path[LIMIT_PATH_BYTES];
};

struct authkeys_query {
    const char *pattern; /* -a: with %u, %h and %%; NULL for ~/.ssh/authorized_keys */
    const struct account *account;
    const uint8_t *public_key; /* 32 bytes */
    struct hostkey *hostkey;   /* the child wipes its copy first */
    int watched;               /* no need to go on once this one hangs up */
    int64_t deadline_ms;       /* clock_now_ms() at which the child is killed */
};

/*
 * Forks the child, waits for its verdict and fills in *verdict, with AUTHKEYS_NO_CHILD where there
 * is none. Returns true if the key is listed. The child is left to the caller's reaping.
 */
bool authkeys_ask(struct authkeys_verdict *verdict, const struct authkeys_query *query);

/* The reason in an administrator's words. */
const char *authkeys_words(const struct authkeys_verdict *verdict);

/* ---- the child's part, authkeys_file.c ------------------------------------------------------- */

/* Expands the pattern into `out`; one that does not start at the root starts at the home. */
bool authkeys_expand(char out[static LIMIT_PATH_BYTES], const char *pattern,
                     const struct account *account);

/*
 * Looks for the key in the file, as the user that the process is: opens it without being held by a
 * FIFO or a device; refuses it, as OpenSSH's StrictModes does, if it or a directory from it up to
 * the home (up to the root if it is not below the home) has an owner other than root and the user
 * or is writable by group or others.
 */
void authkeys_search(struct authkeys_verdict *verdict, const char *pattern,
                     const struct account *account, const uint8_t public_key[static 32]);

#endif
