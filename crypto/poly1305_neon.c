/* Four blocks at a time, of which two share a lane, with NEON on either ARM. */
#include <arm_neon.h>
#include <sodium.h>
#include <string.h>

#include "poly1305_kernel.h"
#include "zeros.h"

#define LANES      2
#define DIGITS     5
#define DIGIT_BITS 26
#define DIGIT_MASK ((UINT64_C(1) << DIGIT_BITS) - 1)

typedef uint64x2_t wide;
typedef uint32x2_t narrow;

/* A digit is multiplied by a lane of these. A vector for each factor would need twice the
 * registers. */
struct factors {
    uint32x2_t pair[DIGITS];
};

/*
 * Of ARMv7's 16 registers the sums take 5, the digits of a stride 5, and two sets of factors 2.5
 * each. Compilers would load all of it as early as possible, and then store most of it again.
 */
#ifdef __arm__
static inline const struct factors *fresh(const struct factors *f)
{
    __asm__ volatile("" : "+r"(f) : "m"(*f));
    return f;
}

static inline const uint8_t *after(const wide sum[static DIGITS], const uint8_t *message)
{
    __asm__ volatile(""
                     : "+r"(message)
                     : "w"(sum[0]), "w"(sum[1]), "w"(sum[2]), "w"(sum[3]), "w"(sum[4]));
    return message;
}
#else
#define fresh(f)            (f)
#define after(sum, message) (message)
#endif

static inline wide add_product(wide sum, narrow a, const struct factors *f, int i)
{
    const uint32x2_t *pair = &f->pair[i / 2];
    return i % 2 == 0 ? vmlal_lane_u32(sum, a, *pair, 0) : vmlal_lane_u32(sum, a, *pair, 1);
}

/* One instruction. GCC 12 makes two of a vector that is widened and then added. */
static inline wide add_digit(wide sum, narrow digit)
{
    return vaddw_u32(sum, digit);
}

static inline wide add_excess(wide sum, wide digit)
{
    return vsraq_n_u64(sum, digit, DIGIT_BITS);
}

static inline wide add_excess_times_5(wide sum, wide digit)
{
    return vmlal_n_u32(sum, vshrn_n_u64(digit, DIGIT_BITS), 5);
}

static inline narrow narrowed(wide lanes)
{
    return vmovn_u64(lanes);
}

static inline wide widened(narrow lanes)
{
    return vmovl_u32(lanes);
}

static inline void set_factors(struct factors *f, const uint64_t number[static DIGITS])
{
    uint32_t digit[2 * DIGITS] = {0};
    for (int i = 0; i < DIGITS; i++) {
        digit[i] = (uint32_t)number[i];
    }
    for (int i = 1; i < DIGITS; i++) {
        digit[DIGITS - 1 + i] = 5 * digit[i];
    }
    memcpy(f->pair, digit, sizeof(digit));
    sodium_memzero(digit, sizeof(digit));
}

static inline void load(narrow first[static DIGITS], narrow last[static DIGITS],
                        const uint8_t *message)
{
    /* Word i of each of the four blocks. The instruction needs no alignment. */
    uint32x4x4_t word = vld4q_u32((const uint32_t *)(const void *)message);
    uint32x4_t mask = vdupq_n_u32(DIGIT_MASK);
    uint32x4_t digit[DIGITS] = {
        word.val[0] & mask,
        vsliq_n_u32(word.val[0] >> 26, word.val[1], 6) & mask,
        vsliq_n_u32(word.val[1] >> 20, word.val[2], 12) & mask,
        vsliq_n_u32(word.val[2] >> 14, word.val[3], 18) & mask,
        word.val[3] >> 8 | 1 << 24,
    };
    for (int i = 0; i < DIGITS; i++) {
        first[i] = vget_low_u32(digit[i]);
        last[i] = vget_high_u32(digit[i]);
    }
}

#include "poly1305_lanes.h"

const struct poly1305_kernel poly1305_neon = {take, DIGITS, DIGIT_BITS, LANES, 256};
