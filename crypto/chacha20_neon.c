/* For ARMv7 and aarch64. A rotation is a shift and a second shift that inserts the lost bits. A
 * rotation by 16 bits swaps the halves of a word. aarch64 also has a fast shuffle of bytes. */
#include <arm_neon.h>

#define LANES  4
#define KERNEL chacha20_neon

typedef uint32x4_t words;

/* Makes the compiler rotate in the order of chacha20_rounds.h. Otherwise it mixes the steps of a
 * round so that more vectors wait than ARMv7 has registers. Not for aarch64's shuffle, with which
 * GCC 14 would copy vectors in the loop. */
static inline words settle(words vector)
{
    __asm__ volatile("" : "+w"(vector));
    return vector;
}

#define rotate_by(vector, bits)                                                                    \
    (lanes) settle(vsriq_n_u32(vshlq_n_u32((words)(vector), bits), (words)(vector), 32 - (bits)))
#define rotate_16(vector) (lanes) settle((words)vrev32q_u16((uint16x8_t)(vector)))
#define rotate_12(vector) rotate_by(vector, 12)
#define rotate_7(vector)  rotate_by(vector, 7)
#ifdef __aarch64__
#define AT_ONCE 8
#define rotate_8(vector)                                                                           \
    (lanes) vqtbl1q_u8((uint8x16_t)(vector),                                                       \
                       (uint8x16_t){3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14})
#else
#define rotate_8(vector) rotate_by(vector, 8)
/* GCC 12 picks pairs by looking up each byte in a table. */
#define half(of, a)      vget_##of##_u64((uint64x2_t)(a))
#define low_pairs(a, b)  (lanes) vcombine_u64(half(low, a), half(low, b))
#define high_pairs(a, b) (lanes) vcombine_u64(half(high, a), half(high, b))
#endif
#include "chacha20_lanes.h"
