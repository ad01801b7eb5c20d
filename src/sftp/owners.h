/*
 * Names of users and groups by their numbers, from /etc/passwd and /etc/group alone: other name
 * services need programs and sockets, which the sandbox forbids.
 */
#ifndef WREN_OWNERS_H
#define WREN_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "paths.h"

/* A name with its NUL. Linux's useradd takes 32 letters; a longer name counts as none. */
#define OWNER_NAME_BYTES 33

/* Opens both files, and learns the process's own numbers. To be called before the sandbox. */
void owners_open(void);

/* Writes the name, or the number in digits and returns false. A client in a jail must not learn who
 * else has an account: with `jailed` they return false, too, unless the number is the process's
 * own, or one of the last LIMIT_SFTP_OWNERS that owners_show() was given. */
bool owners_user(char name[static OWNER_NAME_BYTES], uint32_t uid, bool jailed);
bool owners_group(char name[static OWNER_NAME_BYTES], uint32_t gid, bool jailed);

/* To be called when an answer shows these numbers. */
void owners_show(uint32_t uid, uint32_t gid);

/* Writes the home directory of the user of this name; HOME, or what the file has for the own user,
 * if the name is empty. False if there is no such user, or if the path is too long. */
bool owners_home(char home[static PATH_BYTES], const char *user);

#endif
