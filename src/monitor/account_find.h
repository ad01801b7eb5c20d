/*
 * Looks users up, and decides which accounts may log in. Only the short-lived child that reads keys
 * does this: the code of a name service, and what it has read of /etc/shadow, end with that child.
 */
#ifndef WREN_ACCOUNT_FIND_H
#define WREN_ACCOUNT_FIND_H

#include <stdbool.h>

#include "account.h"

/* What an account must fulfil. */
struct account_rules {
    /* -g: it must be a member of one of these; NULL after the last one, and for any */
    const char *groups[LIMIT_ALLOWED_GROUPS];
    const char *reserve_group;  /* -G, or NULL */
    const char *forced_command; /* -e, or NULL */
    bool no_root;               /* -r: it must not have uid 0 */
    uid_t reserved_uid;         /* of our unprivileged processes: not its uid; -1 for none */
};

/*
 * Looks `user` up and decides whether the account may log in. Its name must consist of printable
 * ASCII without '/', must not begin with '-', and must not be "." or "..". The system must know it;
 * it must not have expired; /etc/nologin and /run/nologin must be missing, unless it is root; it
 * must fulfil the rules. If we do not run as root, it must be the user we run as. A locked password
 * does not matter: this server has no passwords.
 *
 * Its shell must be executable ("" in the record means /bin/sh), unless -e runs our SFTP server,
 * which needs none. Without -e the key may force that server, and the key is judged later: then
 * the path of a shell that is not executable becomes "".
 *
 * Returns NULL, or the reason for the log; then *account and *groups are account_nobody()'s.
 */
const char *account_find(struct account *account, struct account_groups *groups, const char *user,
                         const struct account_rules *rules);

/* A dummy account without rights, whose home does not exist. It replaces users who do not exist or
 * may not log in: the server does the same work for it, so that timing reveals nothing. */
void account_nobody(struct account *account, struct account_groups *groups);

#endif
