/*
 * The sandbox of the network process: entered before it reads its first byte, and never left.
 */
#ifndef WREN_SANDBOX_H
#define WREN_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "users.h"

/*
 * Enters every layer that this kernel and our rights allow, and returns the layers in force
 * (process.h). The caller sends them to the monitor, which decides whether they suffice.
 *
 * Descriptors 0, 1, IPC_DESCRIPTOR and SESSION_DESCRIPTOR stay open, and ENTROPY_DESCRIPTOR if
 * random bytes come from it. Descriptor 2 becomes NULL_DESCRIPTOR; all others are closed. From here
 * on the process can open no file: new descriptors come only from the session process.
 *
 * A process that starts as root becomes `identity`; otherwise that is NULL. When the monitor ends,
 * the process ends too.
 */
uint32_t sandbox_enter(const struct identity *identity);

/*
 * The last layer, in seccomp.c: the list of system calls that the process may make. Replaces
 * descriptor 2 by NULL_DESCRIPTOR, as only the monitor writes the log, and installs the filter: any
 * other system call, or other arguments, kill the process. Needs no_new_privs. Returns false if the
 * kernel has no seccomp filters.
 */
bool seccomp_enter(void);

#endif
