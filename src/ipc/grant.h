/*
 * Who logs in, and what the login may do: the key, the options of its line in authorized_keys, and
 * of the certificate if there is one. The child that reads keys makes it, and the session process
 * applies the grant of the key that signed, for the whole connection. A grant of all zeros allows
 * least. Its size is fixed.
 *
 * The command line says the rest: struct session_options.
 */
#ifndef WREN_GRANT_H
#define WREN_GRANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "limit.h"
#include "signature.h"

enum grant_flag {
    /* Permissions: a line and a certificate must both give them. */
    GRANT_PTY = 1 << 0,
    GRANT_USER_RC = 1 << 1,   /* this server runs no rc file anyway */
    GRANT_UNTOUCHED = 1 << 2, /* a FIDO signature counts without a touch (no-touch-required) */
    /* Restrictions: it is enough if one of the two sets them. */
    GRANT_VERIFY = 1 << 3, /* a FIDO key must have verified its user (verify-required) */
    GRANT_FORCED = 1 << 4, /* `command` runs, whatever the client requests */
    /* For the log and the programs. */
    GRANT_CERTIFICATE = 1 << 5,
};

#define GRANT_PERMISSIONS (GRANT_PTY | GRANT_USER_RC | GRANT_UNTOUCHED)

/* The grant of a line without options. */
#define GRANT_OF_PLAIN_LINE (GRANT_PTY | GRANT_USER_RC)

struct grant {
    uint8_t fingerprint[32]; /* SHA-256 of the key, without what a certificate adds */
    uint8_t authority[32];   /* the same of the certificate's authority */
    uint32_t flags;
    uint32_t environment_bytes;
    uint64_t serial;                 /* of the certificate */
    struct signature_key key;        /* what verifies the login's signature */
    uint32_t command_bytes;          /* without its NUL */
    char key_id[LIMIT_KEY_ID_BYTES]; /* of the certificate; a longer one ends in "..." */
    char environment[LIMIT_GRANT_ENVIRONMENT_BYTES]; /* "NAME=VALUE\0"... */
    char command[LIMIT_FORCED_COMMAND_BYTES];        /* last, as most grants have none */
};

/* The child sends it as bytes: no padding, so what is sent is what was set. */
_Static_assert(sizeof(struct signature_key) == 4 + 32 + 32, "no padding in signature_key");
_Static_assert(sizeof(struct grant) == 2 * 32 + 2 * 4 + 8 + sizeof(struct signature_key) + 4 +
                                           LIMIT_KEY_ID_BYTES + LIMIT_GRANT_ENVIRONMENT_BYTES +
                                           LIMIT_FORCED_COMMAND_BYTES,
               "no padding in grant");

/* The command that means our own SFTP server, wrensshd-sftp. Its flags may follow. */
#define GRANT_INTERNAL_SFTP "internal-sftp"

static inline bool grant_is_sftp(const char *command)
{
    size_t bytes = strlen(GRANT_INTERNAL_SFTP);
    return strncmp(command, GRANT_INTERNAL_SFTP, bytes) == 0 &&
           strchr(" \t", command[bytes]) != NULL;
}

/* True if the grant suits an account without a shell, which can only use our SFTP server. */
static inline bool grant_needs_no_shell(const struct grant *grant)
{
    return (grant->flags & GRANT_FORCED) != 0 && grant_is_sftp(grant->command);
}

/* A subsystem of -x: both strings point into argv. */
struct subsystem {
    const char *name;
    size_t name_bytes;
    const char *command;
};

/* What the session process knows of the command line. */
struct session_options {
    const char *forced_command; /* -e, or NULL */
    bool is_anybody;            /* -N: strangers share the account */
    size_t subsystem_count;
    const struct subsystem *subsystems;
};

#endif
