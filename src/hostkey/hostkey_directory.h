/*
 * What `keydir` names: a directory or a key file, in the file system or among systemd's
 * credentials.
 */
#ifndef WREN_HOSTKEY_DIRECTORY_H
#define WREN_HOSTKEY_DIRECTORY_H

#include <fcntl.h>
#include <stdbool.h>
#include <sys/types.h>

#include "hostkey_files.h"
#include "limit.h"

/* The OpenSSH key of a directory. */
#define HOSTKEY_OPENSSH_NAME "ssh_host_ed25519_key"

/* systemd's ACL for the user of a service shows as the group's right to read. */
#define HOSTKEY_FORBIDDEN_OF_SECRET     0077
#define HOSTKEY_FORBIDDEN_OF_CREDENTIAL 0037
#define HOSTKEY_FORBIDDEN_OF_PUBLIC     0022

/* O_NONBLOCK: a FIFO of that name must not hold us. */
#define HOSTKEY_OPEN_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* An open file or directory, how the log calls it, and what a file's mode may not have. */
struct hostkey_directory {
    int fd;
    const char *name;
    mode_t forbidden;
    char path[LIMIT_PATH_BYTES]; /* of a credential */
};

/* Sets the name and the mode that `keydir` stands for, and opens it. Returns 0, or -1: `fd` is -1
 * and errno says why, or 0 if `keydir` can't name anything and that has been logged. */
int hostkey_open_directory(struct hostkey_directory *place, const char *keydir);

/* Logs that a place could not be opened, and sets the exit code. */
void hostkey_refuse_directory(const struct hostkey_directory *place, int error, int *status);

bool hostkey_is_directory(int fd);
bool hostkey_is_there(const struct hostkey_directory *directory, const char *name);
bool hostkey_has_pair(const struct hostkey_directory *directory);

/* 100 if the administrator can correct it, 111 if the system failed; after HOSTKEY_FAILED errno
 * decides. */
int hostkey_exit_code(enum hostkey_state state);

#endif
