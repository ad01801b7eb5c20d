/*
 * What a login gives: who has signed, what its sessions may do, and what their SFTP servers
 * report.
 */
#ifndef WREN_GRANT_H
#define WREN_GRANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "limit.h"

/* ---- signatures of a login, signature.c ------------------------------------------------------ */

/* Signatures of ed25519 keys (RFC 8709) and of ed25519 keys in a FIDO authenticator (OpenSSH's
 * PROTOCOL.u2f). */

#define SIGNATURE_SK_PRESENT  0x01U /* a person touched the authenticator */
#define SIGNATURE_SK_VERIFIED 0x04U /* and proved by PIN or fingerprint who it is */

struct signature_key {
    uint32_t sk; /* 1: a FIDO authenticator's key, else 0 */
    uint8_t public_key[32];
    uint8_t application_hash[32]; /* SHA-256 of the application; zeros without sk */
};

struct signature {
    uint8_t bytes[64];
    uint8_t sk_flags;
    uint32_t sk_counter;
};

/*
 * True if the key has signed `data`. An authenticator signs
 *
 *     SHA-256(application) || flags || counter || SHA-256(data)
 *
 * and the caller must judge the flags. S >= L (RFC 8032 section 5.1.7) and keys of small order are
 * refused.
 */
bool signature_verify(const struct signature *signature, const struct signature_key *key,
                      const uint8_t *data, size_t data_bytes);

/* ---- grants ---------------------------------------------------------------------------------- */

/* Who logs in, and what the login may do: the key, the options of its line in authorized_keys, and
 * of the certificate if there is one. The child that reads keys makes it, and the session process
 * applies the grant of the key that signed, for the whole connection. A grant of all zeros allows
 * least. Its size is fixed.
 *
 * The command line says the rest: struct session_options. */

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

#define GRANT_PERMISSIONS  (GRANT_PTY | GRANT_USER_RC | GRANT_UNTOUCHED)
#define GRANT_RESTRICTIONS (GRANT_VERIFY | GRANT_FORCED)

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

/* ---- reports of SFTP servers, sftp_report.c -------------------------------------------------- */

/* What wrensshd-sftp reports for the log. It runs as the user, who must not write to the log, so it
 * sends numbers to the session process, which makes the lines. */

/* A sequenced-packet socket to the session process. Without it wrensshd-sftp logs by itself. */
#define SFTP_REPORT_DESCRIPTOR 3

enum sftp_report_kind {
    SFTP_REPORT_END = 1,  /* of the session; the text is the reason */
    SFTP_REPORT_FILE = 2, /* was closed; the text is its name */
    SFTP_REPORT_LOST = 3, /* made by the session process: a server has ended without
                             SFTP_REPORT_END; the text is the reason, and the rest is 0 */
    SFTP_REPORT_FULL = 4, /* no more files can be opened; the text is the reason */
};

struct sftp_counts {
    uint64_t files; /* opened */
    uint64_t read_bytes;
    uint64_t written_bytes;
    uint64_t refused; /* requests answered with PERMISSION_DENIED */
};

struct sftp_report {
    uint32_t kind;
    uint32_t layers; /* of process.h */
    struct sftp_counts counts;
    char text[LIMIT_NOTE_BYTES + 1];
};

_Static_assert(sizeof(struct sftp_report) == 40 + LIMIT_NOTE_BYTES + 1, "no padding");

/* The session that the server serves. */
struct sftp_origin {
    const char *user;
    const char *key; /* that logged in, as the log shows it */
    size_t channel;
    pid_t pid; /* of the server */
};

/* Logs the report: the end as `event=sftp`, a file as `event=sftp-file`, at LOG_DETAIL, and
 * SFTP_REPORT_FULL as `event=sftp-full`. `origin` is NULL in wrensshd-sftp itself, which knows
 * none.
 */
void sftp_report_log(const struct sftp_report *report, const struct sftp_origin *origin);

/* False if a report is not one of the server's, or if its text has no end. */
bool sftp_report_is_valid(const struct sftp_report *report, size_t bytes);

#endif
