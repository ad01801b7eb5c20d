/*
 * The arithmetic of poly1305.c with four limbs of 32 bits. poly1305_limbs64.h has the same
 * functions for machines with products of 128 bits.
 */

/* h += block + marker 2^128 */
static inline void add_block(limb h[static LIMBS + 1], const uint8_t block[static BLOCK_BYTES],
                             limb marker)
{
    limb value[LIMBS];
    wide carry = 0;
    read_limbs(value, block);
    for (size_t i = 0; i < LIMBS; i++) {
        carry += (wide)h[i] + value[i];
        h[i] = (limb)carry;
        carry >>= LIMB_BITS;
    }
    h[LIMBS] += marker + (limb)carry;
}

/* h *= r. The bits from 2^130 on are multiplied by 5 and added at the bottom. h must be below
 * 2^131 + 2^130, so that `top` does not overflow; afterwards it is below 2^130 + 2^65. */
static inline void multiply(struct scalars *scalars)
{
    const limb *h = scalars->h, *r = scalars->r, *folded = scalars->folded;
    limb product[LIMBS];
    wide carry = 0;
    for (size_t i = 0; i < LIMBS; i++) {
        for (size_t j = 0; j <= LIMBS; j++) {
            if (j <= i) {
                carry += (wide)h[j] * r[i - j];
            } else if (j < LIMBS + i) {
                carry += (wide)h[j] * folded[LIMBS + i - j];
            }
        }
        product[i] = (limb)carry;
        carry >>= LIMB_BITS;
    }
    limb top = h[LIMBS] * r[0] + (limb)carry;
    carry = (wide)(top >> 2) + (top & ~(limb)3);
    for (size_t i = 0; i < LIMBS; i++) {
        carry += product[i];
        scalars->h[i] = (limb)carry;
        carry >>= LIMB_BITS;
    }
    scalars->h[LIMBS] = (top & 3) + (limb)carry;
}

/* The last digit keeps all higher bits. */
static void write_digits(uint64_t digit[static 5], const limb h[static LIMBS + 1],
                         const struct poly1305_kernel *kernel)
{
    for (size_t i = 0; i < kernel->digits; i++) {
        size_t at = i * kernel->digit_bits / LIMB_BITS, shift = i * kernel->digit_bits % LIMB_BITS;
        uint64_t two_limbs = (uint64_t)(((wide)h[at + 1] << LIMB_BITS | h[at]) >> shift);
        uint64_t mask = (UINT64_C(1) << kernel->digit_bits) - 1;
        digit[i] = i + 1 < kernel->digits ? two_limbs & mask : two_limbs;
    }
}

static void add_digit(limb h[static LIMBS + 1], uint64_t digit, size_t bits)
{
    wide carry = (wide)digit << bits % LIMB_BITS;
    for (size_t i = bits / LIMB_BITS; i < LIMBS; i++) {
        carry += h[i];
        h[i] = (limb)carry;
        carry >>= LIMB_BITS;
    }
    h[LIMBS] += (limb)carry;
}

/* h += what the lane has. */
static inline void add_lane(limb h[static LIMBS + 1], const struct poly1305_lanes *lanes,
                            size_t lane, const struct poly1305_kernel *kernel)
{
    for (size_t i = 0; i < kernel->digits; i++) {
        add_digit(h, lanes->h[i][lane], i * kernel->digit_bits);
    }
}
