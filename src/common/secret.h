/*
 * Memory for a secret that must not leave the process: pages of their own that are never swapped
 * out, never part of a core dump, and that a forked child does not get.
 */
#ifndef WREN_SECRET_H
#define WREN_SECRET_H

#include <stddef.h>

/*
 * Returns zeroed memory of `bytes`, rounded up to whole pages, or NULL with errno. Where the kernel
 * or a limit denies a property, the memory comes without it: locking needs room in RLIMIT_MEMLOCK,
 * wiping in a fork Linux 4.14. So a child calls secret_abandon() all the same.
 */
void *secret_new(size_t bytes);

/* Wipes the secret and gives the memory back. */
void secret_free(void *secret, size_t bytes);

/* For a forked child: takes the mapping out of its memory. The parent's stays as it is. */
void secret_abandon(void *secret, size_t bytes);

#endif
