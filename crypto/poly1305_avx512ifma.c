/*
 * Eight blocks at a time with AVX-512's 52-bit multiplication: a kernel of poly1305_kernel.h with
 * digits of 44 bits. One instruction gives the lower 52 bits of a product. Another gives the bits
 * above them, which have 2^8 times the weight of the next digit.
 */
#include <immintrin.h>
#include <sodium.h>
#include <string.h>

#include "poly1305_kernel.h"

#define LANES      8
#define DIGITS     3
#define DIGIT_BITS 44
#define TOP_BITS   42 /* the last digit's, up to 2^130 */
#define FOLD       20 /* digit 3 + i is added to digit i this many times, by 2^132 = 4 x 5 */

#define MASK(bits) ((UINT64_C(1) << (bits)) - 1)

typedef uint64_t wide __attribute__((vector_size(8 * LANES)));

/* A number's digits and, after them, 20 times each digit except the first. */
struct factors {
    wide digit[2 * DIGITS - 1];
};

struct sums {
    wide low[DIGITS];
    wide high[DIGITS];
};

static inline wide add_low(wide sum, wide a, wide b)
{
    return (wide)_mm512_madd52lo_epu64((__m512i)sum, (__m512i)a, (__m512i)b);
}

static inline wide add_high(wide sum, wide a, wide b)
{
    return (wide)_mm512_madd52hi_epu64((__m512i)sum, (__m512i)a, (__m512i)b);
}

static inline void set_factors(struct factors *f, const uint64_t number[static DIGITS])
{
    for (int i = 0; i < DIGITS; i++) {
        f->digit[i] = (wide){0} + number[i];
    }
    for (int i = 1; i < DIGITS; i++) {
        f->digit[DIGITS - 1 + i] = (wide){0} + FOLD * number[i];
    }
}

static inline void add_products(struct sums *sums, const wide a[static DIGITS],
                                const struct factors *f)
{
#pragma GCC unroll 3
    for (int j = 0; j < DIGITS; j++) {
#pragma GCC unroll 3
        for (int i = 0; i < DIGITS; i++) {
            wide factor = f->digit[j <= i ? i - j : 2 * DIGITS - 1 + i - j];
            sums->low[i] = add_low(sums->low[i], a[j], factor);
            sums->high[i] = add_high(sums->high[i], a[j], factor);
        }
    }
}

static inline void load_group(wide digit[static DIGITS], const uint8_t *message)
{
    __m512i left = _mm512_loadu_si512(message), right = _mm512_loadu_si512(message + 64);
    wide low = (wide)_mm512_unpacklo_epi64(left, right);
    wide high = (wide)_mm512_unpackhi_epi64(left, right);
    digit[0] = low & MASK(DIGIT_BITS);
    digit[1] = (low >> 44 | high << 20) & MASK(DIGIT_BITS);
    digit[2] = high >> 24 | UINT64_C(1) << 40;
}

/* The bits of digit i above its lower `bits`. */
static inline wide excess(const struct sums *sums, int i, int bits)
{
    return (sums->low[i] >> bits) + (sums->high[i] << (52 - bits));
}

/*
 * A digit of h is below 2^44 + 2^10, its last one below 2^43. Those of R, R^2 and the message are
 * at most 2^44, their last ones 2^42, and 20 times any of them is below 2^48.4. So the lower halves
 * sum up to less than 2^55. In the last sum no product is multiplied by 20: its upper halves are
 * less than 2^38, its excess is less than 2^49, and five times the excess is below 2^52, as the
 * instruction requires. The last carry adds less than 2^8 to digit 1.
 */
static inline void carry_all(wide h[static DIGITS], struct sums *sums)
{
    sums->low[1] += excess(sums, 0, DIGIT_BITS);
    sums->low[2] += excess(sums, 1, DIGIT_BITS);
    wide five = (wide){0} + 5;
    wide first = add_low(sums->low[0] & MASK(DIGIT_BITS), excess(sums, 2, TOP_BITS), five);
    h[0] = first & MASK(DIGIT_BITS);
    h[1] = (sums->low[1] & MASK(DIGIT_BITS)) + (first >> DIGIT_BITS);
    h[2] = sums->low[2] & MASK(TOP_BITS);
}

static void take(struct poly1305_lanes *state, const uint8_t *message, size_t strides)
{
    struct factors one, two;
    wide h[DIGITS];
    set_factors(&one, state->power[0]);
    set_factors(&two, state->power[1]);
    memcpy(h, state->h, sizeof(h));
    for (; strides > 0; strides--, message += 2 * LANES * BLOCK_BYTES) {
        wide first[DIGITS];
        struct sums sums = {0};
        load_group(first, message);
        load_group(sums.low, message + LANES * BLOCK_BYTES);
        add_products(&sums, first, &one);
        add_products(&sums, h, &two);
        carry_all(h, &sums);
    }
    memcpy(state->h, h, sizeof(h));
    sodium_memzero(&one, sizeof(one));
    sodium_memzero(&two, sizeof(two));
}

const struct poly1305_kernel poly1305_avx512ifma = {take, DIGITS, DIGIT_BITS, LANES, 768};
