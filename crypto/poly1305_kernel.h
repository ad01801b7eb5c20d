/*
 * What poly1305.c and the kernels for vector instructions have in common.
 *
 * A kernel works on a number h for each of its lanes. From the message it takes strides of two
 * blocks for each lane: the first `lanes` blocks and the last. With R = r^lanes it makes of each h
 *
 *     h R^2 + (its block of the first ones) R + (its block of the last ones)
 *
 * so that the polynomial of all blocks is the sum of h r^(lanes - 1 - i), where i is the number of
 * the first block that a lane has taken. Block i is in lane 2 i, or 2 i - lanes + 1 if that is too
 * many: the order in which x86 deals out the halves of blocks.
 *
 * A number is the sum of digit[i] 2^(digit_bits i). The last digit has all that stands above it: h
 * is below 2^131 and R and R^2 below 2^130 + 2^65. The others are below 2^digit_bits, those of h
 * below 2^digit_bits + 2^10. take() depends on that and leaves h below 2^130 + 2^114.
 */
#ifndef WREN_POLY1305_KERNEL_H
#define WREN_POLY1305_KERNEL_H

#include "poly1305.h"

#define BLOCK_BYTES 16

struct poly1305_kernel {
    /* At least one stride. */
    void (*take)(struct poly1305_lanes *state, const uint8_t *message, size_t strides);
    size_t digits;
    size_t digit_bits;
    size_t lanes;
    size_t least_bytes; /* for which it pays to find powers and put lanes together */
};

extern const struct poly1305_kernel poly1305_avx512ifma;
extern const struct poly1305_kernel poly1305_avx512;
extern const struct poly1305_kernel poly1305_avx2;
extern const struct poly1305_kernel poly1305_neon;

#endif
