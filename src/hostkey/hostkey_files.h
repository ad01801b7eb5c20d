/*
 * What `keydir` names, a directory or a key file in the file system or among systemd's credentials,
 * and the files in a directory. Shared by what loads and what makes the host key.
 */
#ifndef WREN_HOSTKEY_FILES_H
#define WREN_HOSTKEY_FILES_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "limit.h"

/* ---- places ---------------------------------------------------------------------------------- */

/* The OpenSSH key of a directory. */
#define HOSTKEY_OPENSSH_NAME "ssh_host_ed25519_key"

/* systemd's ACL for the user of a service shows as the group's right to read. */
#define HOSTKEY_FORBIDDEN_OF_SECRET     0077
#define HOSTKEY_FORBIDDEN_OF_CREDENTIAL 0037
#define HOSTKEY_FORBIDDEN_OF_PUBLIC     0022

/* O_NONBLOCK: opening a FIFO of that name must not block. */
#define HOSTKEY_OPEN_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* An open file or directory, its name in the log, and the mode bits that a file must not have. */
struct hostkey_directory {
    int fd;
    const char *name;
    mode_t forbidden;
    char path[LIMIT_PATH_BYTES]; /* of a credential */
};

/* Sets the name and the forbidden mode of what `keydir` names, and opens it. Returns 0, or -1: `fd`
 * is -1 and errno says why, or 0 if `keydir` can't name anything and that has been logged. */
int hostkey_open_directory(struct hostkey_directory *place, const char *keydir);

/* Logs that a place could not be opened, and sets the exit code. */
void hostkey_refuse_directory(const struct hostkey_directory *place, int error, int *status);

bool hostkey_is_directory(int fd);
bool hostkey_is_there(const struct hostkey_directory *directory, const char *name);
bool hostkey_has_pair(const struct hostkey_directory *directory);

/* ---- files ----------------------------------------------------------------------------------- */

struct hostkey_file {
    const char *name;
    const char *temporary; /* its name while it is written; one maker at a time */
    size_t bytes;
    mode_t forbidden; /* mode bits that must not be set */
    mode_t mode;      /* the one it is made with */
};

extern const struct hostkey_file hostkey_public_file;
extern const struct hostkey_file hostkey_secret_file;

enum hostkey_state {
    HOSTKEY_GOOD,
    HOSTKEY_MISSING,
    HOSTKEY_DAMAGED, /* not of the exact size */
    HOSTKEY_UNSAFE,  /* not a regular file, or one with the wrong owner or mode */
    HOSTKEY_FAILED,  /* a system call failed; errno says why */
};

/*
 * Reads one file of the key directory open as `directory` into `out`, which has room for
 * file->bytes. *reason says in words what is wrong. On anything but HOSTKEY_GOOD `out` is wiped.
 */
enum hostkey_state hostkey_read_file(int directory, const struct hostkey_file *file, uint8_t *out,
                                     const char **reason);

/*
 * Reads the text in the file open as `fd` from its start, at most `room` bytes; none of the bits in
 * `forbidden` may be set in its mode. With a read bit among them the text is a secret. *reason as
 * above; on anything but HOSTKEY_GOOD the text is wiped.
 */
enum hostkey_state hostkey_read_text(int fd, mode_t forbidden, char *text, size_t room,
                                     size_t *count, const char **reason);

/* 100 if the administrator can correct it, 111 if the system failed; after HOSTKEY_FAILED errno
 * decides. */
int hostkey_exit_code(enum hostkey_state state);

/* ---- keys and errors ------------------------------------------------------------------------- */

/* Derives the public key from the secret key's seed. True if the copy in the last 32 bytes of the
 * secret key is the same. */
int hostkey_derive(uint8_t public_key[static 32], const uint8_t secret_key[static 64]);

/* Logs `keydir/name` with a reason. */
void hostkey_log(const char *what, const char *keydir, const char *name, const char *reason);

#endif
