/*
 * The network process's sandbox, entered before its first byte is read and for life.
 */
#ifndef WREN_SANDBOX_H
#define WREN_SANDBOX_H

#include <stdint.h>

#include "identity.h"

/*
 * Puts up every layer that this kernel and our rights allow and returns those that hold
 * (sandbox_layers.h): the caller hands them to the monitor, which decides. Descriptors 0, 1,
 * IPC_DESCRIPTOR and SESSION_DESCRIPTOR stay, as does ENTROPY_DESCRIPTOR where random bytes come
 * from it; 2 becomes NULL_DESCRIPTOR, all others are closed, and the process can't open others; it
 * may only be handed some. A process that starts as root becomes `identity`. From here on the
 * process ends when its parent, the monitor, ends.
 */
uint32_t sandbox_enter(const struct identity *identity);

#endif
