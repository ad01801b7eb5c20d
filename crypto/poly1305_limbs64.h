/*
 * The arithmetic of poly1305.c with two limbs of 64 bits. poly1305_limbs32.h has the same functions
 * for machines without products of 128 bits.
 *
 * Carries come from a builtin: where limbs are widened to be added, GCC 12 makes up to twice the
 * instructions and keeps half of the words in memory.
 */
static inline wide join(limb low, limb high)
{
    return (wide)high << LIMB_BITS | low;
}

/* h = a + b + high 2^128 */
static inline void set_sum(limb h[static LIMBS + 1], wide a, wide b, limb high)
{
    wide sum;
    h[2] = high + __builtin_add_overflow(a, b, &sum);
    h[0] = (limb)sum;
    h[1] = (limb)(sum >> LIMB_BITS);
}

/* h += block + marker 2^128 */
static inline void add_block(limb h[static LIMBS + 1], const uint8_t block[static BLOCK_BYTES],
                             limb marker)
{
    limb value[LIMBS];
    memcpy(value, block, BLOCK_BYTES);
    set_sum(h, join(h[0], h[1]), join(limb_from_little(value[0]), limb_from_little(value[1])),
            h[2] + marker);
}

/* h *= r. The bits from 2^130 on are multiplied by 5 and added at the bottom. h must be below
 * 2^131 + 2^129: then h[2] is at most 9, `top` is below 11 2^60 + 2, and 5/4 of it is a limb.
 * Afterwards h is below 2^130 + 2^64. */
static inline void multiply(struct scalars *scalars)
{
    limb *h = scalars->h;
    const limb *r = scalars->r, *folded = scalars->folded;
    wide first = (wide)h[0] * r[0] + (wide)h[1] * folded[1];
    wide second = (wide)h[0] * r[1] + (wide)h[1] * r[0];
    limb middle = (limb)second, top = h[2] * r[0] + (limb)(second >> LIMB_BITS);
    top += __builtin_add_overflow(middle, h[2] * folded[1], &middle);
    top += __builtin_add_overflow(middle, (limb)(first >> LIMB_BITS), &middle);
    set_sum(h, join((limb)first, middle), (top >> 2) + (top & ~(limb)3), top & 3);
}

/* With constants, as a shift of two limbs by a variable takes six instructions. */
static inline void split(uint64_t digit[static 5], const limb h[static LIMBS + 1], size_t digits,
                         size_t bits)
{
    for (size_t i = 0; i < digits; i++) {
        size_t at = i * bits / LIMB_BITS, shift = i * bits % LIMB_BITS;
        limb rest = (limb)(join(h[at], h[at + 1]) >> shift);
        digit[i] = i + 1 < digits ? rest & ((UINT64_C(1) << bits) - 1) : rest;
    }
}

/* All digits but the last one are together below 2^128. */
static inline void add_split(limb h[static LIMBS + 1], const struct poly1305_lanes *lanes,
                             size_t lane, size_t digits, size_t bits)
{
    wide sum = 0;
    size_t last_bits = (digits - 1) * bits;
    uint64_t last = lanes->h[digits - 1][lane];
    for (size_t i = 0; i + 1 < digits; i++) {
        sum += (wide)lanes->h[i][lane] << i * bits;
    }
    set_sum(h, join(h[0], h[1]), sum, h[2]);
    set_sum(h, join(h[0], h[1]), (wide)last << last_bits, h[2] + (last >> (128 - last_bits)));
}

/* The last digit keeps all higher bits. */
static void write_digits(uint64_t digit[static 5], const limb h[static LIMBS + 1],
                         const struct poly1305_kernel *kernel)
{
    if (kernel->digits == 5) {
        split(digit, h, 5, 26);
    } else {
        split(digit, h, 3, 44);
    }
}

/* h += what the lane has. */
static inline void add_lane(limb h[static LIMBS + 1], const struct poly1305_lanes *lanes,
                            size_t lane, const struct poly1305_kernel *kernel)
{
    if (kernel->digits == 5) {
        add_split(h, lanes, lane, 5, 26);
    } else {
        add_split(h, lanes, lane, 3, 44);
    }
}
