/*
 * What a login may do: the restrictions of the line and of the certificate that let it in, of fixed
 * size. The child that has given up every right makes it; the session process applies the one of
 * the key that signed, for the whole connection. All zero is the narrowest.
 */
#ifndef WREN_GRANT_H
#define WREN_GRANT_H

#include <stdint.h>

#include "limit.h"
#include "signature.h"

enum grant_flag {
    /* Permissions: a line and a certificate must both give them. */
    GRANT_PTY = 1 << 0,
    GRANT_USER_RC = 1 << 1,   /* this server runs no rc file anyway */
    GRANT_UNTOUCHED = 1 << 2, /* a signature without user presence will do */
    /* Restrictions: one of the two is enough. */
    GRANT_VERIFY = 1 << 3, /* a FIDO key must have verified its user */
    GRANT_FORCED = 1 << 4, /* `command` runs, whatever is asked for */
    /* How it came about. */
    GRANT_CERTIFICATE = 1 << 5,
};

#define GRANT_PERMISSIONS (GRANT_PTY | GRANT_USER_RC | GRANT_UNTOUCHED)

/* What a plain line without options gives. */
#define GRANT_OF_PLAIN_LINE (GRANT_PTY | GRANT_USER_RC)

struct grant {
    uint32_t flags;
    uint32_t environment_bytes;
    uint64_t serial;                                 /* of the certificate */
    struct signature_key key;                        /* what verifies the login's signature */
    uint32_t command_bytes;                          /* without its NUL */
    char key_id[LIMIT_KEY_ID_BYTES];                 /* of the certificate; cut off */
    char environment[LIMIT_GRANT_ENVIRONMENT_BYTES]; /* "NAME=VALUE\0"... */
    char command[LIMIT_FORCED_COMMAND_BYTES];        /* the last: most have none */
};

/* The child sends it as bytes: no padding, so what is sent is what was set. */
_Static_assert(sizeof(struct signature_key) == 4 + 32 + 32, "no padding in signature_key");
_Static_assert(sizeof(struct grant) == 2 * 4 + 8 + sizeof(struct signature_key) + 4 +
                                           LIMIT_KEY_ID_BYTES + LIMIT_GRANT_ENVIRONMENT_BYTES +
                                           LIMIT_FORCED_COMMAND_BYTES,
               "no padding in grant");

#endif
