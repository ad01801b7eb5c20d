/* For ARMv7 and aarch64. A rotation is a shift and a second shift that inserts the lost bits. A
 * rotation by 16 bits swaps the halves of a word. aarch64 also has a fast shuffle of bytes. */
#include <arm_neon.h>

#define LANES  4
#define KERNEL chacha20_neon
#define rotate_by(vector, bits)                                                                    \
    (lanes) vsriq_n_u32(vshlq_n_u32((uint32x4_t)(vector), bits), (uint32x4_t)(vector), 32 - (bits))
#define rotate_16(vector) (lanes) vrev32q_u16((uint16x8_t)(vector))
#define rotate_12(vector) rotate_by(vector, 12)
#define rotate_7(vector)  rotate_by(vector, 7)
#ifdef __aarch64__
#define rotate_8(vector)                                                                           \
    (lanes) vqtbl1q_u8((uint8x16_t)(vector),                                                       \
                       (uint8x16_t){3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14})
#else
#define rotate_8(vector) rotate_by(vector, 8)
#endif
#include "chacha20_lanes.h"
