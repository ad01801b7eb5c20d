/*
 * Sorting secret words.
 *
 * Constant time: what is compared with what depends on `count` alone. Secret: the words.
 */
#ifndef WREN_SORT_H
#define WREN_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Sorts `count` words in place, smallest first, with Batcher's merge exchange (K. E. Batcher, 1968;
 * D. E. Knuth, The Art of Computer Programming, volume 3, algorithm 5.2.2M). */
void sort_uint32(uint32_t *words, size_t count);

#endif
