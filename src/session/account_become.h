/*
 * Becoming the user who has logged in.
 */
#ifndef WREN_ACCOUNT_BECOME_H
#define WREN_ACCOUNT_BECOME_H

#include "account.h"

/*
 * Makes this process the user's for good: supplementary groups, real, effective and saved gid and
 * uid, no inheritable capability; then makes sure that there is no way back. Where the process is
 * not root it only checks that it is the user's. Leaves the process non-dumpable.
 * Returns 0, or -1 with errno: then the process must not go on.
 */
int account_become(const struct account *account, const struct account_groups *groups);

#endif
