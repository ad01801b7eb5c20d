/*
 * Looks up a user in /etc/passwd alone, without any name service. For the server's own user, which
 * is a local one.
 */
#ifndef WREN_PASSWD_H
#define WREN_PASSWD_H

#include <stdbool.h>

#include "account_file.h"
#include "users.h"

/* As users_find() (users.h), from /etc/passwd. */
int passwd_find(struct user *user, const char *name);

/* Reads a line after its name. False if it is malformed. `fits` becomes false if the home directory
 * or the shell is too long for `user`. */
bool passwd_read_rest(struct account_file *file, struct user *user, bool *fits);

#endif
