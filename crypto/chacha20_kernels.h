/*
 * What chacha20.c chooses from: the block function for whole strides of several blocks side by
 * side. Each is a file of its own, compiled for the instructions that its name says; its caller
 * knows from cpu_level() that the processor has them.
 *
 * A state is the sixteen words of RFC 8439 section 2.3, in this machine's byte order: four
 * constants, eight words of key, two of the block counter (the low one first), two of nonce.
 */
#ifndef WREN_CHACHA20_KERNELS_H
#define WREN_CHACHA20_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "chacha20.h"

#define CHACHA20_STATE_WORDS 16
#define CHACHA20_COUNTER     12 /* and 13 */

/*
 * out[i] = in[i] ^ keystream[i] for `strides` times as many blocks as the function has lanes, at
 * least once. The keystream begins with block `state`, and the counter goes on from there, but its
 * very first block is `first`: another key's block comes along at no cost. If `first` isn't `state`
 * itself there is only one stride. `in` and `out` are the same or don't overlap.
 */
typedef void chacha20_kernel(uint8_t *out, const uint8_t *in, size_t strides,
                             const uint32_t state[static CHACHA20_STATE_WORDS],
                             const uint32_t first[static CHACHA20_STATE_WORDS]);

chacha20_kernel chacha20_portable;  /* 1 lane */
chacha20_kernel chacha20_sse2;      /* 4 lanes */
chacha20_kernel chacha20_neon;      /* 4 lanes */
chacha20_kernel chacha20_avx2;      /* 8 lanes */
chacha20_kernel chacha20_avx2_four; /* 4 lanes */
chacha20_kernel chacha20_avx512vl;  /* 8 lanes */
chacha20_kernel chacha20_avx512;    /* 16 lanes */

#endif
