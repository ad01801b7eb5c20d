/*
 * Looks up a user in /etc/passwd alone, without any name service. For the server's own user, which
 * is a local one.
 */
#ifndef WREN_PASSWD_H
#define WREN_PASSWD_H

#include "users.h"

/* As users_find() (users.h), from /etc/passwd. */
int passwd_find(struct user *user, const char *name);

#endif
