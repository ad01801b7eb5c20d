/*
 * What happens at the login: the session process starts, and the monitor gives up root.
 */
#ifndef WREN_DROP_PRIVILEGES_H
#define WREN_DROP_PRIVILEGES_H

#include "authkeys_ask.h"
#include "grant.h"

/*
 * For struct login's `enter`; `monitor` is a struct monitor within a struct monitor_memory. Starts
 * the session process, then gives up every right that the monitor no longer needs: its uid, all
 * capabilities, and the system calls that are not on its list. Returns NULL, or why the connection
 * must end.
 */
const char *drop_privileges(void *monitor, const struct authkeys_account *account,
                            const struct grant *grant);

#endif
