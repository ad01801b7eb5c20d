/*
 * Decides whether a file of keys or a certificate authority lets a key in, and with what
 * restrictions. All of it runs in the child that reads keys (authkeys_ask.h). The child opens the
 * files, gives up every right, and only then parses. The monitor includes no other header of this
 * folder.
 */
#ifndef WREN_AUTHKEYS_H
#define WREN_AUTHKEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account.h"
#include "grant.h"
#include "limit.h"

enum authkeys_reason {
    AUTHKEYS_LISTED = 1,
    AUTHKEYS_NOT_LISTED,
    AUTHKEYS_MISSING,
    AUTHKEYS_UNREADABLE,
    AUTHKEYS_NOT_REGULAR,
    AUTHKEYS_UNSAFE_OWNER, /* `path` is owned by `owner` */
    AUTHKEYS_UNSAFE_MODE,  /* `path` is writable by group or others */
    AUTHKEYS_BAD_PATTERN,  /* of -a: an unknown %x, or too long when expanded */
    AUTHKEYS_BAD_KEY,      /* the blob is not of its type */
    /* What `line` of `path` or the certificate says; `option` names the option. */
    AUTHKEYS_UNKNOWN_OPTION,
    AUTHKEYS_BROKEN_OPTION,
    AUTHKEYS_ELSEWHERE, /* not from this address */
    AUTHKEYS_EXPIRED,
    AUTHKEYS_FOR_AUTHORITY, /* cert-authority, and the key was offered by itself */
    AUTHKEYS_NO_AUTHORITY,  /* the authority's key without cert-authority */
    AUTHKEYS_PRINCIPAL,
    AUTHKEYS_COMMANDS_DIFFER,
    AUTHKEYS_CERT_SIGNATURE,
    AUTHKEYS_CERT_TYPE,
    AUTHKEYS_CERT_NOT_YET,
    AUTHKEYS_CERT_EXPIRED,
    AUTHKEYS_REVOKED,        /* by `line` of -R's file */
    AUTHKEYS_REVOKED_BROKEN, /* -R's file can't be understood in `line` */
    AUTHKEYS_NO_USER,        /* the child could not open files as the user */
    AUTHKEYS_NOT_CONFINED,   /* the child could not give up its rights */
    AUTHKEYS_NO_CHILD,       /* there was no child, or it died or took too long */
    AUTHKEYS_REASONS,
};

/* The name of an option in the log, with its NUL. */
#define AUTHKEYS_OPTION_BYTES 32

/* The child writes it to a pipe as it is. Fields that are not set are zero. */
struct authkeys_verdict {
    uint32_t reason; /* enum authkeys_reason */
    uint32_t line;   /* counted from 1; 0 if there is none */
    uint32_t owner;
    uint32_t mode;
    uint32_t error;  /* errno of AUTHKEYS_MISSING and AUTHKEYS_UNREADABLE */
    uint32_t unused; /* zero, where padding would be */
    char option[AUTHKEYS_OPTION_BYTES];
    uint8_t fingerprint[32]; /* SHA-256 of the key, without what a certificate adds */
    uint8_t authority[32];   /* the same of the certificate's authority */
    char path[LIMIT_PATH_BYTES];
    struct grant grant; /* its key, key id and serial are set even on a refusal */
};

_Static_assert(sizeof(struct authkeys_verdict) == 6 * 4 + AUTHKEYS_OPTION_BYTES + 32 + 32 +
                                                      LIMIT_PATH_BYTES + sizeof(struct grant),
               "no padding in authkeys_verdict");

/* The key that the client offers, and what it is judged by. */
struct authkeys_query {
    const char *user;         /* as the client sent it */
    const char *pattern;      /* -a: with %u, %h and %%; NULL for ~/.ssh/authorized_keys */
    const char *ca_path;      /* -c: authorities for every account, or NULL */
    const char *revoked_path; /* -R, or NULL */
    const char *address;      /* the client's, or NULL */
    int64_t now;              /* seconds since 1970 */
    bool may_set_environment;
    uint32_t key_type;   /* IPC_KEY_* */
    const uint8_t *blob; /* as the client sent it */
    size_t blob_bytes;
};

/* A file of the administrator's (-c, -R), opened before the child takes the user's rights, so that
 * it may be readable by root only. */
struct authkeys_file {
    const char *path; /* NULL: there is none */
    int fd;           /* -1: the file can't be used; `reason` says why */
    enum authkeys_reason reason;
    int error;
};

/* The user's file, opened with the user's rights. */
struct authkeys_users_file {
    int fd; /* -1: `refused` has reason, path, owner, mode and error */
    char path[LIMIT_PATH_BYTES];
    struct authkeys_verdict refused;
};

struct authkeys_files {
    struct authkeys_file authorities;
    struct authkeys_file revoked;
    struct authkeys_users_file users;
};

/* Opens a file of the administrator's. A FIFO or a device does not block it. The file must be
 * regular, owned by root or by us, and not writable by group or others. */
struct authkeys_file authkeys_open_admins(const char *path);

/* Expands the pattern into `out`. A relative one starts at the home. */
bool authkeys_expand(char out[static LIMIT_PATH_BYTES], const char *pattern,
                     const struct account *account);

/*
 * Opens the user's file with the rights that the process has now. A FIFO or a device does not block
 * it. As with OpenSSH's StrictModes, the file and each directory above it, up to the home (up to
 * the root if the file is not below the home), must belong to root or the user, and not be writable
 * by group or others.
 */
void authkeys_open_users(struct authkeys_users_file *file, const char *pattern,
                         const struct account *account);

/*
 * Judges the key: by the file of -R, then a certificate by the authorities of -c, then by the
 * user's file. The first line that lets it in counts. If none does, the reason is that of the first
 * line with this key. A certificate is parsed only if an authority could let it in: one of -c, or
 * of a line with cert-authority. The descriptors stay open.
 */
void authkeys_search(struct authkeys_verdict *verdict, const struct authkeys_query *query,
                     const char *user, const struct authkeys_files *files);

#endif
