/*
 * What the files of the monitor target share.
 */
#ifndef WREN_MONITOR_TARGET_H
#define WREN_MONITOR_TARGET_H

#include "monitor_internal.h"
#include "monitor_model.h"

enum monitors_fd { IPC_SOCKET = 1, CONNECTION, SIGNALS, PIPE_IN, PIPE_OUT, OTHER };

#define MONITORS_SESSION 101 /* the session process */

extern struct model model;
extern struct monitor *running; /* the product's memory */
extern struct hostkey secrets;
extern const struct identity nobody;

/* Before each input: the monitor has all its rights. */
void monitor_login_begin(void);

/* Makes `secrets` as the settings want them. */
void monitor_make_keys(void);

#endif
