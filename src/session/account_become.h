/*
 * Makes the session process run as the user who has logged in.
 */
#ifndef WREN_ACCOUNT_BECOME_H
#define WREN_ACCOUNT_BECOME_H

#include "account.h"

/*
 * Sets the supplementary groups, the real, effective and saved gid and uid, and clears the
 * inheritable capabilities; then verifies that the process can't become root again. A process that
 * is not root checks that it already runs as the user, and gives up all capabilities: its launcher
 * may have kept some for it (AmbientCapabilities= of systemd). The bounding set stays, as sudo
 * needs it. Makes the process non-dumpable. Returns 0, or -1 with errno: then the process must
 * exit.
 */
int account_become(const struct account *account, const struct account_groups *groups);

#endif
