/*
 * Who may log in, and becoming that user.
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
 * service for that. None where we aren't root and nobody asks for one. */
struct account_groups {
    int count; /* -1: they could not be told, and `error` says why */
    int error;
    gid_t ids[LIMIT_USER_GROUPS];
};

/*
 * Looks `user` up and decides whether it may log in at all: a name without surprises, known to the
 * system, with an executable shell ("" means /bin/sh), not expired, not kept out by /etc/nologin, a
 * member of `group` unless that is NULL, and, where we aren't root, the user we run as. A locked
 * password keeps nobody out: there are no passwords here.
 * Returns NULL, or the reason for the log; then *account and *groups are
 * account_nobody()'s.
 */
const char *account_find(struct account *account, struct account_groups *groups, const char *user,
                         const char *group);

/* Stands in for users that do not exist or may not log in, so that the same work is done for them:
 * no rights, a home that does not exist. */
void account_nobody(struct account *account, struct account_groups *groups);

/*
 * Makes this process the user's for good: supplementary groups, real, effective and saved gid and
 * uid; then makes sure that there is no way back. Does nothing but check where the process is not
 * root. Leaves the process non-dumpable.
 * Returns 0, or -1 with errno: then the process must not go on.
 */
int account_become(const struct account *account, const struct account_groups *groups);

#endif
