/*
 * The kernel in vectors of the instruction set's length. A file for each instruction set includes
 * this and names the kernel. All functions are static: of a function that is not, the linker would
 * keep only one copy, perhaps one with instructions that the processor lacks.
 */
#ifndef WREN_SNTRUP761_LANES_H
#define WREN_SNTRUP761_LANES_H

#include <sodium.h>
#include <string.h>

#include "sntrup761_kernel.h"

#if defined(__AVX2__)
#define LANES 16
#elif defined(__SSE2__) || defined(__ARM_NEON)
#define LANES 8
#endif

/* `sums` has lanes of 16 bits, `words` of 32. Without vectors each is one lane of 32 bits, so that
 * compilers need not truncate sums. */
#ifdef LANES
#define WORD_LANES (LANES / 2)
#define TILE       8
#define STEPS      4
typedef int16_t sums __attribute__((vector_size(2 * LANES)));
typedef int32_t words __attribute__((vector_size(2 * LANES)));
typedef sums sums_anywhere __attribute__((aligned(2), may_alias));
typedef words words_anywhere __attribute__((aligned(4), may_alias));
#else
#define LANES      1
#define WORD_LANES 1
#define TILE       4
#define STEPS      1
typedef int32_t sums;
typedef int32_t words;
typedef int16_t sums_anywhere;
typedef int32_t words_anywhere;
#endif

#define ROWS SNTRUP761_ROWS

_Static_assert(ROWS % (TILE * LANES) == 0, "a whole number of tiles");
_Static_assert(SNTRUP761_TERMS % (2 * LANES) == 0, "a whole number of pairs of vectors");
_Static_assert(ROWS > 512 && ROWS <= 1024, "what sort() begins with");

/* ---- sorting --------------------------------------------------------------------------------- */

static inline words load_words(const int32_t *from)
{
    return *(const words_anywhere *)from;
}

static inline void store_words(int32_t *to, words value)
{
    *(words_anywhere *)to = value;
}

/* Sets all bits of each lane in which a is above b. Without vectors by a subtraction, as a compiler
 * might turn a comparison into a branch. */
static inline words above(words a, words b)
{
#if LANES > 1
    return a > b;
#else
    return (int32_t)(((int64_t)b - a) >> 32);
#endif
}

/* Puts two words into order, at each i with (i & p) == r and at i + distance. p is at least a
 * vector: such i are runs of p words with gaps of p words. */
static void exchange_runs(int32_t *at, size_t p, size_t r, size_t distance)
{
    for (size_t run = r; run + distance < ROWS; run += 2 * p) {
        size_t end = run + p + distance < ROWS ? run + p : ROWS - distance;
        for (size_t i = run; i < end; i += WORD_LANES) {
            words low = load_words(at + i), high = load_words(at + i + distance);
            words swap = (low ^ high) & above(low, high);
            store_words(at + i, low ^ swap);
            store_words(at + i + distance, high ^ swap);
        }
    }
}

/* The same with p less than a vector, from one struct room to another. In each vector, lanes with
 * the lower word of a pair alternate with lanes with the upper one. A lane without a partner finds
 * one before or after all words, with which it is in order. */
static void exchange_lanes(int32_t *restrict to, const int32_t *restrict from, size_t p, size_t r,
                           size_t distance)
{
    int32_t is_upper[WORD_LANES];
    for (size_t i = 0; i < WORD_LANES; i++) {
        is_upper[i] = (i & p) == r ? 0 : -1;
    }
    const words upper = load_words(is_upper);
    for (size_t i = 0; i < ROWS; i += WORD_LANES) {
        size_t behind = i + distance < ROWS ? i + distance : ROWS;
        size_t before = i + WORD_LANES > distance ? i + WORD_LANES - distance : 0;
        words self = load_words(from + i), other = load_words(from + behind);
        other ^= (other ^ load_words(from + before - WORD_LANES)) & upper;
        words swap = (self ^ other) & (above(self, other) ^ upper);
        store_words(to + i, self ^ swap);
    }
}

struct room {
    int32_t smallest[WORD_LANES];
    int32_t words[ROWS];
    int32_t largest[WORD_LANES];
};

_Static_assert(sizeof(struct room) == (ROWS + 2 * WORD_LANES) * sizeof(int32_t),
               "exchange_lanes() reads beyond the words on either side");

static void exchange(struct room **now, struct room **other, size_t p, size_t r, size_t distance)
{
    if (p >= WORD_LANES) {
        exchange_runs((*now)->words, p, r, distance);
    } else {
        struct room *left = *now;
        exchange_lanes((*other)->words, left->words, p, r, distance);
        *now = *other;
        *other = left;
    }
}

/* t, p, q and r as in Knuth's algorithm M; `top` is 2^(t-1). */
static void sort(int32_t at[static ROWS])
{
    const size_t top = 512;
    struct room rooms[2], *now = &rooms[0], *other = &rooms[1];
    for (size_t i = 0; i < WORD_LANES; i++) {
        rooms[0].smallest[i] = rooms[1].smallest[i] = INT32_MIN;
        rooms[0].largest[i] = rooms[1].largest[i] = INT32_MAX;
    }
    memcpy(now->words, at, sizeof(now->words));
    for (size_t p = top; p > 0; p /= 2) {
        size_t r = 0, distance = p;
        for (size_t q = 2 * top; q > p; q /= 2) {
            exchange(&now, &other, p, r, distance);
            r = p;
            distance = q / 2 - p;
        }
    }
    memcpy(at, now->words, sizeof(now->words));
    sodium_memzero(rooms, sizeof(rooms));
}

/* ---- multiplying ----------------------------------------------------------------------------- */

static inline sums load_sums(const int16_t *from)
{
    return *(const sums_anywhere *)from;
}

static inline void store_sums(int16_t *to, sums value)
{
    *(sums_anywhere *)to = (sums_anywhere)value;
}

/*
 * x = 4096 f + e with 0 <= e < 4096 becomes e - 495 f, which is congruent. If x was between -2970
 * and 7065 before 2 STEPS products were added, it is between -21330 and 25425. So f is between -6
 * and 6, and the result is again between -6 * 495 = -2970 and 4095 + 6 * 495 = 7065.
 */
static inline sums reduce(sums x)
{
    return x - SNTRUP761_Q * (x >> 12);
}

/* Two coefficients of r at once, a vector apart. The part of the window that the second one needs
 * is the part of the first one in the next sum, so it is loaded once. Unrolling more than a tile
 * makes the kernel three times as large and not faster. */
static inline void add_products(sums sum[static TILE], const int16_t *window, const int16_t *r)
{
#pragma GCC unroll 1
    for (size_t j = 0; j < STEPS; j++) {
        for (size_t i = 0; i < TILE; i++) {
            sum[i] += r[j] * load_sums(window + i * LANES + j);
            sum[i] += r[j + LANES] * load_sums(window + (i + 1) * LANES + j);
        }
    }
    for (size_t i = 0; i < TILE; i++) {
        sum[i] = reduce(sum[i]);
    }
}

static inline void multiply_tile(int16_t *product, const int16_t *window, const int16_t *r)
{
    sums sum[TILE];
    for (size_t i = 0; i < TILE; i++) {
        sum[i] = (sums){0};
    }
    for (size_t pair = 0; pair < SNTRUP761_TERMS; pair += 2 * LANES) {
        for (size_t j = pair; j < pair + LANES; j += STEPS) {
            add_products(sum, window + j, r + j);
        }
    }
    for (size_t i = 0; i < TILE; i++) {
        store_sums(product + i * LANES, sum[i]);
    }
}

static void multiply(int16_t product[static ROWS], const int16_t window[static SNTRUP761_WINDOW],
                     const int16_t r[static SNTRUP761_TERMS])
{
#pragma GCC unroll 1
    for (size_t row = 0; row < ROWS; row += TILE * LANES) {
        multiply_tile(product + row, window + row, r);
    }
}

#endif
