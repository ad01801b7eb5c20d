/*
 * /etc/passwd alone, whatever other sources of users there are: for the users of the system itself,
 * which it has to have.
 */
#ifndef WREN_PASSWD_H
#define WREN_PASSWD_H

#include "users.h"

/* As users_find(), out of /etc/passwd. */
int passwd_find(struct user *user, const char *name);

#endif
