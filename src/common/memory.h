/*
 * Memory that has nothing in it any more goes back to the kernel: a connection that rests should
 * not sit on what its busiest moment needed. It reads as zeros from then on and costs nothing until
 * it is written to again, and whatever secret was left in it is gone.
 */
#ifndef WREN_MEMORY_H
#define WREN_MEMORY_H

#include <stddef.h>

/* The whole pages within [start, start + bytes): of .bss, of the stack, or of a private mapping
 * without a file. What shares its first or its last page with others stays in that one. Should the
 * kernel refuse, all stays as it is. */
void memory_give_back(void *start, size_t bytes);

/* The pages of the stack below the caller, which it will need again only for deeper calls. */
void memory_give_back_stack(void);

#endif
