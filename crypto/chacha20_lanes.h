/*
 * ChaCha20 in vector types: one vector holds word i of LANES consecutive blocks, so that the code
 * of the rounds is that of a single block. The file that includes this defines
 *
 *     LANES         4, 8 or 16
 *     KERNEL        the name of the function (chacha20_kernels.h)
 *     rotate_16()   and _12, _8, _7 if there is something faster than two shifts
 *     AT_ONCE       with 4 lanes, how many words are transposed at once, if not 4
 *     low_pairs()   and high_pairs() if there is something faster than pick()
 *
 * Its compiler flags decide which instructions these vectors use. For little-endian machines only.
 */
#ifndef WREN_CHACHA20_LANES_H
#define WREN_CHACHA20_LANES_H

#include "chacha20_kernels.h"
#include "zeros.h"

_Static_assert(CHACHA20_PAIR_BYTES >= LANES * CHACHA20_BLOCK_BYTES, "chacha20.c has the room");

typedef uint32_t lanes __attribute__((vector_size(4 * LANES)));
typedef lanes unaligned_lanes __attribute__((aligned(1), may_alias));

/* A vector of chosen elements: 0 to LANES - 1 are those of a, the next ones those of b. */
#ifdef __clang__
#define pick(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define pick(a, b, ...) __builtin_shuffle(a, b, (lanes){__VA_ARGS__})
#endif

/* LOW and HIGH interleave two vectors within units of four lanes, by words or by pairs of words.
 * EVEN and ODD take every second unit. */
#if LANES == 4
#define NUMBERS    0, 1, 2, 3
#define LOW_WORDS  0, 4, 1, 5
#define HIGH_WORDS 2, 6, 3, 7
#define LOW_PAIRS  0, 1, 4, 5
#define HIGH_PAIRS 2, 3, 6, 7
#elif LANES == 8
#define NUMBERS    0, 1, 2, 3, 4, 5, 6, 7
#define LOW_WORDS  0, 8, 1, 9, 4, 12, 5, 13
#define HIGH_WORDS 2, 10, 3, 11, 6, 14, 7, 15
#define LOW_PAIRS  0, 1, 8, 9, 4, 5, 12, 13
#define HIGH_PAIRS 2, 3, 10, 11, 6, 7, 14, 15
#define EVEN_UNITS 0, 1, 2, 3, 8, 9, 10, 11
#define ODD_UNITS  4, 5, 6, 7, 12, 13, 14, 15
#elif LANES == 16
#define NUMBERS    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define LOW_WORDS  0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define HIGH_WORDS 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#define LOW_PAIRS  0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define HIGH_PAIRS 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define EVEN_UNITS 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27
#define ODD_UNITS  4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31
#endif

static inline lanes rotate(lanes word, int bits)
{
    return word << bits | word >> (32 - bits);
}

#ifndef rotate_16
#define rotate_16(word) rotate(word, 16)
#endif
#ifndef rotate_12
#define rotate_12(word) rotate(word, 12)
#endif
#ifndef rotate_8
#define rotate_8(word) rotate(word, 8)
#endif
#ifndef rotate_7
#define rotate_7(word) rotate(word, 7)
#endif

#ifndef AT_ONCE
#define AT_ONCE 4
#endif

#ifndef low_pairs
#define low_pairs(a, b)  pick(a, b, LOW_PAIRS)
#define high_pairs(a, b) pick(a, b, HIGH_PAIRS)
#endif

#include "chacha20_rounds.h"

#define VECTOR_BYTES      (4 * LANES)
#define UNITS             (LANES / 4) /* of 16 bytes, in a vector */
#define VECTORS_PER_BLOCK (4 / UNITS)

/* The state of all lanes, with `first` in one of them. */
static inline void spread(lanes state[static CHACHA20_STATE_WORDS],
                          const uint32_t from[static CHACHA20_STATE_WORDS],
                          const uint32_t first[static CHACHA20_STATE_WORDS])
{
    const lanes zero = {0}, number = {NUMBERS}, is_first = (lanes)(number == zero);
#pragma GCC unroll 1
    for (int i = 0; i < CHACHA20_STATE_WORDS; i++) {
        state[i] = (zero + from[i]) ^ ((from[i] ^ first[i]) & is_first);
    }
    /* Lane 0 keeps its counter, as its number is 0. */
    state[CHACHA20_COUNTER] += number;
    state[CHACHA20_COUNTER + 1] -= (lanes)(state[CHACHA20_COUNTER] < number);
}

static inline void count_on(lanes state[static CHACHA20_STATE_WORDS])
{
    const lanes step = (lanes){0} + LANES;
    state[CHACHA20_COUNTER] += step;
    state[CHACHA20_COUNTER + 1] -= (lanes)(state[CHACHA20_COUNTER] < step);
}

/* On entry x[j] has word 4 i + j of all blocks. On return unit u of x[j] has words 4 i to 4 i + 3
 * of block 4 u + j. */
static inline void transpose_words(lanes x[static 4])
{
    lanes low_01 = pick(x[0], x[1], LOW_WORDS), high_01 = pick(x[0], x[1], HIGH_WORDS);
    lanes low_23 = pick(x[2], x[3], LOW_WORDS), high_23 = pick(x[2], x[3], HIGH_WORDS);
    x[0] = low_pairs(low_01, low_23);
    x[1] = high_pairs(low_01, low_23);
    x[2] = low_pairs(high_01, high_23);
    x[3] = high_pairs(high_01, high_23);
}

#if UNITS == 1
/* Of x it takes vectors 0, 4, ... All loads come first, so that aarch64 loads and stores in pairs.
 * Not by memcpy(), see xor_vector(). */
static inline void xor_vectors(uint8_t *out, const uint8_t *in, const lanes *x, int count)
{
    lanes bytes[4];
    for (int i = 0; i < count; i++) {
        bytes[i] = *(const unaligned_lanes *)(in + VECTOR_BYTES * i) ^ x[4 * i];
    }
    for (int i = 0; i < count; i++) {
        *(unaligned_lanes *)(out + VECTOR_BYTES * i) = bytes[i];
    }
}

/* x += start, and out = in ^ x. AT_ONCE words at a time: with all sixteen, and as many of start, a
 * compiler that lacks registers would keep a copy of the key on the stack. */
static inline void add_and_xor(uint8_t *out, const uint8_t *in,
                               lanes x[static CHACHA20_STATE_WORDS],
                               lanes start[static CHACHA20_STATE_WORDS])
{
#pragma GCC unroll 4
    for (int i = 0; i < CHACHA20_STATE_WORDS; i += AT_ONCE) {
        READ_ANEW(*(lanes(*)[AT_ONCE])(start + i));
        for (int j = i; j < i + AT_ONCE; j++) {
            x[j] += start[j];
        }
        for (int j = i; j < i + AT_ONCE; j += 4) {
            transpose_words(x + j);
        }
        for (int j = 0; j < 4; j++) {
            int at = j * CHACHA20_BLOCK_BYTES + i / 4 * VECTOR_BYTES;
            xor_vectors(out + at, in + at, x + i + j, AT_ONCE / 4);
        }
    }
}
#else
/* Not by memcpy(): with _FORTIFY_SOURCE Clang 14 moves all bytes over the stack twice. */
static inline void xor_vector(uint8_t *out, const uint8_t *in, lanes keystream)
{
    *(unaligned_lanes *)out = *(const unaligned_lanes *)in ^ keystream;
}

/* On entry each vector has one quarter of UNITS blocks, and each unit belongs to one block. On
 * return the four quarters of a block follow one another, block after block. */
static inline void transpose_units(lanes x[static 4])
{
    for (int units = UNITS; units > 1; units /= 2) {
        lanes even_01 = pick(x[0], x[1], EVEN_UNITS), odd_01 = pick(x[0], x[1], ODD_UNITS);
        lanes even_23 = pick(x[2], x[3], EVEN_UNITS), odd_23 = pick(x[2], x[3], ODD_UNITS);
        x[0] = even_01;
        x[1] = even_23;
        x[2] = odd_01;
        x[3] = odd_23;
    }
}

static inline void xor_stride(uint8_t *out, const uint8_t *in, lanes x[static CHACHA20_STATE_WORDS])
{
    for (int i = 0; i < CHACHA20_STATE_WORDS; i += 4) {
        transpose_words(x + i);
    }
/* Otherwise GCC 12 unrolls it after it has put x into memory. */
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        lanes quarters[4] = {x[j], x[4 + j], x[8 + j], x[12 + j]};
        transpose_units(quarters);
        for (int i = 0; i < 4; i++) {
            int block = 4 * (i / VECTORS_PER_BLOCK) + j;
            int at = block * CHACHA20_BLOCK_BYTES + i % VECTORS_PER_BLOCK * VECTOR_BYTES;
            xor_vector(out + at, in + at, quarters[i]);
        }
    }
}
#endif

void KERNEL(uint8_t *out, const uint8_t *in, size_t strides,
            const uint32_t state[static CHACHA20_STATE_WORDS],
            const uint32_t first[static CHACHA20_STATE_WORDS])
{
    lanes start[CHACHA20_STATE_WORDS];
    spread(start, state, first);
    for (; strides > 0; strides--) {
        lanes x[CHACHA20_STATE_WORDS];
        READ_ANEW(start);
        for (int i = 0; i < CHACHA20_STATE_WORDS; i++) {
            x[i] = start[i];
        }
        permute(x);
#if UNITS == 1
        add_and_xor(out, in, x, start);
#else
        READ_ANEW(start);
        for (int i = 0; i < CHACHA20_STATE_WORDS; i++) {
            x[i] += start[i];
        }
        xor_stride(out, in, x);
#endif
        count_on(start);
        out += LANES * CHACHA20_BLOCK_BYTES;
        in += LANES * CHACHA20_BLOCK_BYTES;
    }
    write_zeros(start, sizeof(start));
}

#endif
