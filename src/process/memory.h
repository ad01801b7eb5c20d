/*
 * Returning unused memory to the kernel (madvise(2), MADV_DONTNEED), so that an idle connection
 * does not keep what its busiest moment needed. The memory then reads as zeros, and takes a page
 * again only when it is written to. A secret that was left in it is erased.
 */
#ifndef WREN_MEMORY_H
#define WREN_MEMORY_H

#include <stddef.h>

/* Returns the whole pages within [start, start + bytes): of .bss, of the stack, or of a private
 * anonymous mapping. A page that is only partly in the range stays as it is. If the kernel refuses,
 * nothing changes. */
void memory_give_back(void *start, size_t bytes);

/* Returns the pages of the stack below the caller. Only deeper calls need them again. */
void memory_give_back_stack(void);

#endif
