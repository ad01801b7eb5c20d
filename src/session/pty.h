/*
 * Pseudo-terminals.
 */
#ifndef WREN_PTY_H
#define WREN_PTY_H

#include "ipc.h"

#define PTY_NAME_BYTES 64

/*
 * Opens a pseudo-terminal with the modes and the size asked for; the kernel judges both. It
 * belongs to the user because the process is the user. Sets *slave (blocking) and its name.
 * Returns the master, non-blocking, or -1 with errno. None of them becomes our controlling
 * terminal.
 */
int pty_open(int *slave, char name[PTY_NAME_BYTES], const struct ipc_pty *request);

#endif
