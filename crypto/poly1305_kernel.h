/*
 * The interface between poly1305.c and the kernels for vector instructions.
 *
 * A kernel has a number h for each lane. It reads the message in strides of two blocks for each
 * lane: `lanes` first blocks, then `lanes` last blocks. With R = r^lanes, a stride turns each h
 * into
 *
 *     h R^2 + (the lane's first block) R + (the lane's last block)
 *
 * At the end the polynomial of all blocks is the sum of all h r^(lanes - 1 - i), where i is the
 * number of the first block in the lane. Block i is in lane 2 i, or in lane 2 i - lanes + 1 if 2 i
 * is too large: the order in which x86 instructions separate the halves of blocks.
 *
 * A number is the sum of digit[i] 2^(digit_bits i). The last digit also has all higher bits: h is
 * below 2^131, R and R^2 are below 2^130 + 2^65. The other digits are below 2^digit_bits, those of
 * h below 2^digit_bits + 2^10. take() relies on this and leaves h below 2^130 + 2^114.
 */
#ifndef WREN_POLY1305_KERNEL_H
#define WREN_POLY1305_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define BLOCK_BYTES 16

/* h[i] has digit i of all lanes. power[0] is R, power[1] is R^2. */
struct poly1305_lanes {
    uint64_t h[5][8] __attribute__((aligned(64)));
    uint64_t power[2][5];
};

struct poly1305_kernel {
    /* At least one stride. */
    void (*take)(struct poly1305_lanes *state, const uint8_t *message, size_t strides);
    size_t digits;
    size_t digit_bits;
    size_t lanes;
    size_t least_bytes; /* at least a stride; for less it is not worth computing the powers */
};

extern const struct poly1305_kernel poly1305_avx512ifma;
extern const struct poly1305_kernel poly1305_avx512;
extern const struct poly1305_kernel poly1305_avx2;
extern const struct poly1305_kernel poly1305_neon;

#endif
