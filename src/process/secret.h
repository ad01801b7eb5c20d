/*
 * Memory for a secret of this process: pages of its own that are never swapped out, never in a core
 * dump, and that a forked child does not get.
 */
#ifndef WREN_SECRET_H
#define WREN_SECRET_H

#include <stddef.h>

/*
 * Returns zeroed memory of `bytes`, rounded up to whole pages, or NULL with errno. The memory lacks
 * a property that the kernel or a limit denies: locking needs space in RLIMIT_MEMLOCK, and zeros
 * for a child need Linux 4.14. So a child must call secret_abandon() in any case.
 */
void *secret_new(size_t bytes);

/* Wipes the secret and unmaps the memory. */
void secret_free(void *secret, size_t bytes);

/* For a forked child: unmaps the memory in the child only. */
void secret_abandon(void *secret, size_t bytes);

#endif
