/*
 * Zeros that the compiler can't leave out: they wipe secrets and clear what is written next. They
 * are written in place, as sodium_memzero() calls memset(): with musl's the calls take a seventh of
 * the time of a packet of 1 KiB.
 */
#ifndef WREN_ZEROS_H
#define WREN_ZEROS_H

#include <stddef.h>
#include <stdint.h>

/* As long as the longest registers that this file is compiled for. */
typedef uint8_t zeros __attribute__((vector_size(__BIGGEST_ALIGNMENT__), aligned(1), may_alias));

/* `count` is a multiple of that. */
static inline void write_zeros(void *bytes, size_t count)
{
    zeros *vector = bytes;
#pragma GCC unroll 4
    for (size_t left = count / sizeof(zeros); left > 0; left--, vector++) {
        *vector = (zeros){0};
        __asm__ volatile("" : : "m"(*vector)); /* or this becomes a call of memset() again */
    }
}

#endif
