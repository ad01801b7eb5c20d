/*
 * Who logs in: what the system says of the user, looked up once, in the child that reads keys.
 */
#ifndef WREN_ACCOUNT_H
#define WREN_ACCOUNT_H

#include <sys/types.h>

#include "limit.h"

struct account {
    char user[LIMIT_USER_BYTES];
    char home[LIMIT_PATH_BYTES];
    char shell[LIMIT_PATH_BYTES];
    uid_t uid;
    gid_t gid;
};

/* All groups of an account, looked up with it: a process that becomes the user needs no name
 * service for that. None where the server does not run as root and -g is not given. */
struct account_groups {
    int count; /* -1: they could not be found, and `error` is the errno */
    int error;
    gid_t ids[LIMIT_USER_GROUPS];
};

#endif
