/*
 * The account of the user who logs in, as the system describes it. The child that reads keys looks
 * it up, once for each key that is offered.
 */
#ifndef WREN_ACCOUNT_H
#define WREN_ACCOUNT_H

#include <stdint.h>
#include <sys/types.h>

#include "limit.h"

/* Why an account without an executable shell may not log in. */
#define ACCOUNT_NO_SHELL "shell is missing or not executable"

struct account {
    char user[LIMIT_USER_BYTES];
    char home[LIMIT_PATH_BYTES];
    char shell[LIMIT_PATH_BYTES]; /* "": it can't be executed, and only our SFTP server may run */
    uid_t uid;
    gid_t gid;
};

/* All groups of the account, looked up with it, so that the session process needs no name service.
 * Empty if the server does not run as root and has no -g. */
struct account_groups {
    int count; /* -1: the lookup failed, and `error` is the errno */
    int16_t error;
    int16_t has_reserve; /* not 0: one of them is that of -G */
    gid_t ids[LIMIT_USER_GROUPS];
};

#endif
