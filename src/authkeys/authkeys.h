/*
 * Decides whether a file of keys or a certificate authority lets a key in, and with what
 * restrictions. All of it runs in the child that reads keys (monitor_internal.h). The child opens
 * the files, gives up every right, and only then parses. The monitor includes no other header of
 * this folder.
 */
#ifndef WREN_AUTHKEYS_H
#define WREN_AUTHKEYS_H

#include <signal.h>

#include "base.h"
#include "grant.h"
#include "users.h"

/*
 * Each reason, its words in the log, and what -T says about how to remedy it: the enumeration and
 * the texts, in the same order. "" means the remedy of the next one, or none if -T can't meet the
 * reason. The path follows a remedy that ends with a blank.
 */
#define WORDS_NO_ANSWER "no answer about authorized_keys"
#define AUTHKEYS_EACH_REASON(REASON)                                                               \
    REASON(GOOD, "key is listed", "")                                                              \
    REASON(NOT_LISTED, "key is not listed", "")                                                    \
    REASON(MISSING, "", "put the line of a .pub file there") /* the text of `error` instead */     \
    REASON(UNREADABLE, "", "")                               /* likewise */                        \
    REASON(NOT_REGULAR, "not a regular file", "put a readable file there")                         \
    REASON(TOO_SLOW, "reading this file takes too much processor time", "shorten it")              \
    REASON(UNSAFE_OWNER, "unsafe owner", "chown ")    /* `path` is owned by `owner` */             \
    REASON(UNSAFE_MODE, "unsafe mode", "chmod go-w ") /* `path` is writable by group or others */  \
    REASON(BAD_PATTERN, "pattern of -a has an unknown % or becomes too long", "use %u, %h or %%")  \
    REASON(BAD_KEY, "key or certificate is malformed", "")                                         \
    /* What `line` of `path` or the certificate says; `option` names the option. */                \
    REASON(UNKNOWN_OPTION, "option is unknown", "")                                                \
    REASON(BROKEN_OPTION, "option is broken", "correct or remove it")                              \
    REASON(ELSEWHERE, "key is not for the client's address", "")                                   \
    REASON(EXPIRED, "key has expired", "set a later time")                                         \
    REASON(FOR_AUTHORITY, "key's line is for certificates only", "")                               \
    REASON(NO_AUTHORITY, "no line has cert-authority", "")                                         \
    REASON(PRINCIPAL, "certificate is not for this user", "")                                      \
    REASON(COMMANDS_DIFFER, "certificate and key's line force different commands", "")             \
    /* The user follows. An account's reason has the same words. */                                \
    REASON(NO_SHELL, WORDS_NO_SHELL, "usermod -s /bin/sh ")                                        \
    /* `option` names the type, which is not taken. */                                             \
    REASON(AUTHORITY_TYPE, "authority's key is ", "ssh-keygen -t ed25519")                         \
    REASON(CERT_SIGNATURE, "certificate is not signed by its authority", "")                       \
    REASON(CERT_TYPE, "certificate is not for users", "")                                          \
    REASON(CERT_NOT_YET, "certificate is not valid yet", "")                                       \
    REASON(CERT_EXPIRED, "certificate has expired", "")                                            \
    /* `line` of the user's file is the first without a whole key. */                              \
    REASON(LINE_TOO_LONG, "key is not listed; this line is too long", "")                          \
    REASON(LINE_NO_TYPE, "key is not listed; this line has no key type", "")                       \
    REASON(LINE_DAMAGED, "key is not listed; this line has a damaged key",                         \
           "copy the .pub file again")                                                             \
    /* These four are only for -T. */                                                              \
    REASON(LINE_BLANK, "a blank after a comma ends the options", "remove the blank")               \
    REASON(LINE_PRIVATE, "private key", "this is the private key: install the .pub file")          \
    REASON(LINE_PUTTY, "PuTTY's format", "ssh-keygen -i -f ")                                      \
    REASON(LINE_OTHER_TYPE, "keys of this type can't log in", "")                                  \
    /* By -R's file, in `line` or, of a KRL, in the section that `option` names. In the order      \
     * of enum revoked. */                                                                         \
    REASON(REVOKED, "key is revoked", "ssh-keygen -t ed25519")                                     \
    REASON(REVOKED_BROKEN, "file of revoked keys is broken", "")                                   \
    REASON(REVOKED_CUT, "file of revoked keys ends too early", "")                                 \
    REASON(REVOKED_UNSUPPORTED, "section of the file of revoked keys is not supported", "")        \
    REASON(REVOKED_RETURN, "file of revoked keys has a carriage return within a line",             \
           "correct it, or write it again")                                                        \
    /* The child could not do its work, or there was none, or it died or took too long. */         \
    REASON(NO_USER, "could not take on the user's rights", "")                                     \
    REASON(NOT_CONFINED, "child that reads keys could not give up its rights",                     \
           "give it root's rights and seccomp")                                                    \
    REASON(NO_CHILD, WORDS_NO_ANSWER, "find out what hangs, or shorten the files")

#define AUTHKEYS_ENUMERATOR(name, words, remedy) AUTHKEYS_##name,

enum authkeys_reason {
    AUTHKEYS_NO_REASON,
    AUTHKEYS_EACH_REASON(AUTHKEYS_ENUMERATOR) AUTHKEYS_REASONS
};

/* The name of an option, a section or a key type in the log, with its NUL. The longest type has 34
 * letters. */
#define AUTHKEYS_OPTION_BYTES 40

/* The child writes it to a pipe as it is. Fields that are not set are zero. */
struct authkeys_verdict {
    uint32_t reason; /* enum authkeys_reason */
    uint32_t line;   /* counted from 1; 0 if there is none */
    uint32_t owner;
    uint32_t mode;
    uint32_t error;         /* errno of AUTHKEYS_MISSING and AUTHKEYS_UNREADABLE */
    uint32_t revoked_empty; /* 1: the file of -R was read, and names nothing */
    char option[AUTHKEYS_OPTION_BYTES];
    struct grant grant; /* what describes the key is set even on a refusal */
    char path[LIMIT_PATH_BYTES];
};

_Static_assert(sizeof(struct authkeys_verdict) ==
                   6 * 4 + AUTHKEYS_OPTION_BYTES + sizeof(struct grant) + LIMIT_PATH_BYTES,
               "no padding in authkeys_verdict");

/* The key that the client offers, and what it is judged by. */
struct authkeys_query {
    const char *user; /* as the client sent it */
    /* -a: with %u, %h and %%; NULL after the last one. ~/.ssh/authorized_keys follows credentials.
     */
    const char *patterns[LIMIT_KEY_FILES];
    const char *ca_path;      /* -c: authorities for every account, or NULL */
    const char *revoked_path; /* -R, or NULL */
    const char *address;      /* the client's, or NULL */
    int64_t now;              /* seconds since 1970 */
    bool may_set_environment;
    uint32_t key_type;   /* IPC_KEY_* */
    const uint8_t *blob; /* as the client sent it */
    size_t blob_bytes;
};

struct authkeys_file {
    const char *path; /* NULL: there is none. If the user's can't be used: the path at fault */
    int fd;           /* -1: the file can't be used; `reason` says why */
    enum authkeys_reason reason;
    int error;
    uint32_t owner;
    uint32_t mode;
    char name[LIMIT_PATH_BYTES]; /* for a path that is no argument of a flag */
};

/* The administrator's, which are also all credentials, are opened before the child takes the user's
 * rights, so that they may be readable by root only; the user's are opened with the user's rights.
 */
struct authkeys_files {
    struct authkeys_file authorities; /* -c */
    struct authkeys_file revoked;     /* -R */
    /* In the order of -a. The first without a path ends them. */
    struct authkeys_file users[LIMIT_KEY_FILES];
};

/* A handler of SIGXCPU: from now on reading a file fails, and the reason is AUTHKEYS_TOO_SLOW. */
void authkeys_stop_reading(int signal, siginfo_t *info, void *context);

/*
 * Opens the administrator's files, and the credentials among the user's, with the rights that the
 * process has now. A FIFO or a device does not block it. A file must be regular, owned by root or
 * by us, and not writable by group or others; others may not read a credential.
 */
void authkeys_open_admins(struct authkeys_files *files, const struct authkeys_query *query,
                          const struct account *account);

/* Expands the pattern into `out`. A relative one starts at the home. */
bool authkeys_expand(char out[static LIMIT_PATH_BYTES], const char *pattern,
                     const struct account *account);

/*
 * Opens the other files of the user's in the same way: ~/.ssh/authorized_keys, if there is none. As
 * with OpenSSH's StrictModes, a file and each directory above it, up to the home (up to the root if
 * the file is not below the home), must belong to root or the user, and not be writable by group or
 * others. The user's own group may write, see users_group_is_private().
 */
void authkeys_open_users(struct authkeys_files *files, const struct authkeys_query *query,
                         const struct account *account);

/*
 * Judges the key: a certificate by the authorities of -c, then by the user's files. The first line
 * that lets it in counts, if the file of -R does not revoke the key. If none does, the reason is
 * that of the first line with this key; if there is none, that of the first of the user's files
 * that can't be used. A missing one counts only if all are missing. If the account's shell is "",
 * only a line or a certificate that forces our SFTP server lets a key in. A certificate is parsed
 * only if an authority could let it in: one of -c, or of a line with cert-authority. The
 * descriptors stay open.
 */
typedef void authkeys_judge(struct authkeys_verdict *verdict, const struct authkeys_query *query,
                            const struct account *account, const struct authkeys_files *files);
authkeys_judge authkeys_search;

#endif
