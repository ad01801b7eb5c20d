/* Many random bytes: libsodium has a system call for each 256 of them, and for each number. */
#ifndef WREN_UNIT_RANDOM_H
#define WREN_UNIT_RANDOM_H

#include <sodium.h>
#include <stddef.h>
#include <stdint.h>

static inline void random_fill(void *bytes, size_t count)
{
    uint8_t seed[randombytes_SEEDBYTES];
    randombytes_buf(seed, sizeof(seed));
    randombytes_buf_deterministic(bytes, count, seed);
}

#endif
