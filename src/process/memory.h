/*
 * Pages of this process: those that are returned to the kernel, those of the connection, and those
 * that hold a secret.
 */
#ifndef WREN_MEMORY_H
#define WREN_MEMORY_H

#include <stddef.h>

/* ---- unused pages (madvise(2), MADV_DONTNEED) ------------------------------------------------ */

/* They are returned so that an idle connection does not keep what its busiest moment needed. The
 * memory then reads as zeros, and takes a page again only when it is written to. A secret that was
 * left in it is erased. */

/* Returns the whole pages within [start, start + bytes): of .bss, of the stack, or of a private
 * anonymous mapping. A page that is only partly in the range stays as it is. If the kernel refuses,
 * nothing changes. */
void memory_give_back(void *start, size_t bytes);

/* Returns the pages of the stack below the caller. Only deeper calls need them again. */
void memory_give_back_stack(void);

/* ---- the connection's memory ----------------------------------------------------------------- */

/* Returns zeroed memory that never gets huge pages, or NULL with errno. It lies a page
 * after the static data, if that is free: then both often share a page of the page table, and a
 * write beyond the data meets no memory. */
void *memory_beside_data(size_t bytes);

/* ---- secrets --------------------------------------------------------------------------------- */

/* Memory for a secret of this process: pages of its own that are never swapped out, never in a core
 * dump, and that a forked child does not get. */

/*
 * Returns zeroed memory of `bytes`, rounded up to whole pages, or NULL with errno. The memory lacks
 * a property that the kernel or a limit denies: locking needs space in RLIMIT_MEMLOCK, and zeros
 * for a child need Linux 4.14. So a child must call secret_abandon() in any case.
 */
void *secret_new(size_t bytes);

/* For a forked child: unmaps the memory in the child only, unless the kernel gave it zeros. */
void secret_abandon(void *secret, size_t bytes);

#endif
