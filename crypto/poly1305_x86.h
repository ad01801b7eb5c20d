/*
 * The definitions that poly1305_lanes.h needs, for x86, where a digit has as many bits of space as
 * a product. The file that includes this defines
 *
 *     LANES                     4 or 8
 *     MULTIPLY_HALVES(a, b)     for each lane, the product of the lower 32 bits
 *     EVEN(a, b), ODD(a, b)     every second lane of both, alternating: a[0], b[0], a[2], b[2]
 */
#include <string.h>

#include "poly1305_kernel.h"
#include "zeros.h"

#define DIGITS     5
#define DIGIT_BITS 26
#define DIGIT_MASK ((UINT64_C(1) << DIGIT_BITS) - 1)

typedef uint64_t wide __attribute__((vector_size(8 * LANES)));
typedef wide narrow;

#define fresh(f)            (f)
#define after(sum, message) (message)

struct factors {
    wide digit[2 * DIGITS - 1];
};

/* Makes the compiler add one product after the other. GCC would otherwise add products in pairs,
 * which needs more registers than there are. */
static inline wide add_product(wide sum, narrow a, const struct factors *f, int i)
{
    sum += (wide)MULTIPLY_HALVES(a, f->digit[i]);
    __asm__("" : "+v"(sum));
    return sum;
}

static inline wide add_digit(wide sum, narrow digit)
{
    return sum + digit;
}

static inline wide add_excess(wide sum, wide digit)
{
    return sum + (digit >> DIGIT_BITS);
}

static inline wide add_excess_times_5(wide sum, wide digit)
{
    wide excess = digit >> DIGIT_BITS;
    return sum + (excess + (excess << 2));
}

static inline narrow narrowed(wide lanes)
{
    return lanes;
}

static inline wide widened(narrow lanes)
{
    return lanes;
}

static inline void set_factors(struct factors *f, const uint64_t number[static DIGITS])
{
    for (int i = 0; i < DIGITS; i++) {
        f->digit[i] = (wide){0} + number[i];
    }
    for (int i = 1; i < DIGITS; i++) {
        f->digit[DIGITS - 1 + i] = (wide){0} + 5 * number[i];
    }
}

static inline void load_group(narrow digit[static DIGITS], const uint8_t *message)
{
    wide left, right;
    memcpy(&left, message, sizeof(left));
    memcpy(&right, message + sizeof(left), sizeof(right));
    wide low = (wide)EVEN(left, right), high = (wide)ODD(left, right);

    digit[0] = low & DIGIT_MASK;
    digit[1] = low >> 26 & DIGIT_MASK;
    digit[2] = (low >> 52 | high << 12) & DIGIT_MASK;
    digit[3] = high >> 14 & DIGIT_MASK;
    digit[4] = high >> 40 | UINT64_C(1) << 24;
}

static inline void load(narrow first[static DIGITS], narrow last[static DIGITS],
                        const uint8_t *message)
{
    load_group(first, message);
    load_group(last, message + LANES * BLOCK_BYTES);
}

#include "poly1305_lanes.h"
