/*
 * Who may log in. Only the child that reads keys asks: a name service, and the file with the
 * passwords' hashes, never run or stay in a process that lives on.
 */
#ifndef WREN_ACCOUNT_FIND_H
#define WREN_ACCOUNT_FIND_H

#include <stdbool.h>

#include "account.h"

/* What the administrator and the server itself demand of an account. */
struct account_rules {
    const char *group;  /* -g: it must be a member; NULL for any */
    bool no_root;       /* -r */
    uid_t reserved_uid; /* of the server's own unprivileged processes; (uid_t)-1 for none */
};

/*
 * Looks `user` up and decides whether it may log in at all: a name without surprises, known to the
 * system, with an executable shell ("" means /bin/sh), not expired, not kept out by /etc/nologin or
 * /run/nologin, as the rules demand, and, where we aren't root, the user we run as. A locked
 * password keeps nobody out: there are no passwords here.
 * Returns NULL, or the reason for the log; then *account and *groups are account_nobody()'s.
 */
const char *account_find(struct account *account, struct account_groups *groups, const char *user,
                         const struct account_rules *rules);

/* Stands in for users that do not exist or may not log in, so that the same work is done for them:
 * no rights, a home that does not exist. */
void account_nobody(struct account *account, struct account_groups *groups);

#endif
