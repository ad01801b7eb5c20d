/*
 * The kernels of which chacha20.c chooses one: functions that make whole strides of several blocks
 * at once. Each kernel is in a file of its own, which is compiled for the instructions in its name.
 * It may be called only if cpu_level() says that the processor has them.
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
 * out[i] = in[i] ^ keystream[i] for `strides` strides, at least one; a stride has one block for
 * each lane. The keystream begins with the block of `state` and continues with the next counters.
 * But its first block is that of `first`, which may have another key: so a stride makes that block,
 * too. If `first` differs from `state`, `strides` must be 1. `in` and `out` are the same or do not
 * overlap.
 */
typedef void chacha20_kernel(uint8_t *out, const uint8_t *in, size_t strides,
                             const uint32_t state[static CHACHA20_STATE_WORDS],
                             const uint32_t first[static CHACHA20_STATE_WORDS]);

chacha20_kernel chacha20_portable;  /* 1 lane */
chacha20_kernel chacha20_sse2;      /* 4 lanes */
chacha20_kernel chacha20_neon;      /* 4 lanes */
chacha20_kernel chacha20_avx2;      /* 8 lanes */
chacha20_kernel chacha20_avx2_one;  /* 1 */
chacha20_kernel chacha20_avx2_four; /* 4 */
chacha20_kernel chacha20_avx2_six;  /* 6 */
chacha20_kernel chacha20_avx512vl;  /* 8 lanes */
chacha20_kernel chacha20_avx512;    /* 16 lanes */

#endif
