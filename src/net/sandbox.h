/*
 * The network process's sandbox, entered before its first byte is read and for life.
 */
#ifndef WREN_SANDBOX_H
#define WREN_SANDBOX_H

#include <stdint.h>

/*
 * Puts up every layer that this kernel and our rights allow and returns those that hold
 * (sandbox_layers.h): the caller hands them to the monitor, which decides. Descriptors 0, 1 and
 * IPC_DESCRIPTOR stay, as does ENTROPY_DESCRIPTOR where random bytes come from it; 2 becomes
 * NULL_DESCRIPTOR, all others are closed, and the process can't open others; it may only be handed
 * some.
 */
uint32_t sandbox_enter(void);

#endif
