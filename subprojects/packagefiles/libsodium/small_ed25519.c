/*
 * ed25519_ref10.c with smaller replacements. What they replace is not linked, because nothing calls
 * it:
 *
 * - the table of the base point's multiples and the two functions around it. There a field element
 * of 255 bits takes 40 bytes, as its limbs; here 32, as bit-fields, which become limbs when an
 * entry has been chosen: 24 KiB in the place of 30
 * - arithmetic modulo the order of the base point, there without a loop: two functions of 4 to 10
 * KiB together
 */
#define ge25519_scalarmult_base unpacked_scalarmult_base
#define ge25519_cmov8_base      unpacked_cmov8_base
#define sc25519_muladd          unrolled_muladd
#define sc25519_reduce          unrolled_reduce
#include "src/libsodium/crypto_core/ed25519/ref10/ed25519_ref10.c"
#undef ge25519_scalarmult_base
#undef ge25519_cmov8_base
#undef sc25519_muladd
#undef sc25519_reduce

/* ---- multiples of the base point ------------------------------------------------------------- */

/* A limb that needed more bits would not compile: compilers warn of it, and warnings are errors. */
struct packed_element {
#ifdef HAVE_TI_MODE
    uint64_t v0 : 51, v1 : 51, v2 : 51, v3 : 51, v4 : 51;
#else
    int32_t v0 : 26, v1 : 25, v2 : 26, v3 : 25, v4 : 26, v5 : 25, v6 : 26, v7 : 25, v8 : 26,
        v9 : 25;
#endif
} __attribute__((packed, aligned(8)));

/* Entries are read as vectors: half of the instructions. */
typedef size_t __attribute__((vector_size(16), may_alias)) vector;

struct packed_precomp {
    struct packed_element yplusx, yminusx, xy2d;
} __attribute__((aligned(16)));
_Static_assert(sizeof(struct packed_precomp) == 96, "three field elements");

/* base[i][j] = (j+1)*256^i*B */
static const struct packed_precomp base[32][8] = {
#ifdef HAVE_TI_MODE
#include "src/libsodium/crypto_core/ed25519/ref10/fe_51/base.h"
#else
#include "src/libsodium/crypto_core/ed25519/ref10/fe_25_5/base.h"
#endif
};

static void unpack(fe25519 h, const struct packed_element *packed)
{
    h[0] = packed->v0;
    h[1] = packed->v1;
    h[2] = packed->v2;
    h[3] = packed->v3;
    h[4] = packed->v4;
#ifndef HAVE_TI_MODE
    h[5] = packed->v5;
    h[6] = packed->v6;
    h[7] = packed->v7;
    h[8] = packed->v8;
    h[9] = packed->v9;
#endif
}

/* t = digit * 256^pos * B, for -8 <= digit <= 8. Reads the whole row, whatever the digit is. */
static void choose(ge25519_precomp *t, const int pos, const signed char digit)
{
    const unsigned char is_negative = negative(digit);
    const unsigned char magnitude = digit - (((-is_negative) & digit) * 2);
    struct packed_precomp chosen = {{.v0 = 0}, {.v0 = 0}, {.v0 = 0}};
    ge25519_precomp minust;

    for (int i = 0; i < 8; i++) {
        const vector *entry = (const vector *)&base[pos][i];
        vector *out = (vector *)&chosen;
        size_t mask = -(size_t)equal(magnitude, i + 1);
        __asm__("" : "+r"(mask)); /* the compiler must not branch on it */
        for (size_t j = 0; j < sizeof(chosen) / sizeof(vector); j++) {
            out[j] |= entry[j] & mask;
        }
    }
    chosen.yplusx.v0 |= equal(digit, 0);
    chosen.yminusx.v0 |= equal(digit, 0);
    unpack(t->yplusx, &chosen.yplusx);
    unpack(t->yminusx, &chosen.yminusx);
    unpack(t->xy2d, &chosen.xy2d);
    fe25519_copy(minust.yplusx, t->yminusx);
    fe25519_copy(minust.yminusx, t->yplusx);
    fe25519_neg(minust.xy2d, t->xy2d);
    ge25519_cmov(t, &minust, is_negative);
}

/* Each digit of a is between -8 and 8: a = digits[0] + 16 * digits[1] + ... Needs a[31] <= 127. */
static void recode(signed char digits[64], const unsigned char a[32])
{
    signed char carry = 0;
    for (int i = 0; i < 64; i++) {
        digits[i] = ((a[i / 2] >> (i % 2 * 4)) & 15) + carry;
        carry = i < 63 ? (digits[i] + 8) >> 4 : 0;
        digits[i] -= carry * 16;
    }
}

void ge25519_scalarmult_base(ge25519_p3 *h, const unsigned char *a)
{
    signed char digits[64];
    ge25519_p1p1 r;
    ge25519_precomp t;

    recode(digits, a);
    ge25519_p3_0(h);
    for (int odd = 1; odd >= 0; odd--) {
        for (int i = odd; i < 64; i += 2) {
            choose(&t, i / 2, digits[i]);
            ge25519_madd(&r, h, &t);
            ge25519_p1p1_to_p3(h, &r);
        }
        for (int i = 0; i < 4 * odd; i++) {
            ge25519_p3_dbl(&r, h);
            ge25519_p1p1_to_p3(h, &r);
        }
    }
}

/* ---- scalars --------------------------------------------------------------------------------- */

/*
 * As in ed25519_ref10.c, with its order of steps and so with its bounds. A scalar is 12 signed
 * limbs of 21 bits, a product 24; the last one takes what is left.
 */
#define LIMB_BITS 21
#define LIMB_MASK ((1 << LIMB_BITS) - 1)

static void read_limbs(int64_t *limbs, int count, const unsigned char *bytes)
{
    for (int i = 0; i < count; i++) {
        limbs[i] = load_4(bytes + i * LIMB_BITS / 8) >> (i * LIMB_BITS % 8);
        limbs[i] &= i < count - 1 ? LIMB_MASK : UINT32_MAX;
    }
}

static void write_limbs(unsigned char bytes[32], const int64_t limbs[13])
{
    uint64_t pending = 0;
    int pending_bits = 0;
    for (int i = 0; i < 32; i++) {
        if (pending_bits < 8) {
            pending |= (uint64_t)*limbs++ << pending_bits;
            pending_bits += LIMB_BITS;
        }
        bytes[i] = (unsigned char)pending;
        pending >>= 8;
        pending_bits -= 8;
    }
}

/* Every `step`th limb up to `last` passes on what is beyond its bits; with half of a limb in
 * `round`, the remainder is signed. */
static void carry(int64_t *limbs, int first, int last, int step, int64_t round)
{
    for (int i = first; i <= last; i += step) {
        int64_t over = (limbs[i] + round) >> LIMB_BITS;
        limbs[i + 1] += over;
        limbs[i] -= over * (1 << LIMB_BITS);
    }
}

static void carry_signed(int64_t *limbs, int first, int last)
{
    carry(limbs, first, last, 2, 1 << (LIMB_BITS - 1));
    carry(limbs, first + 1, last, 2, 1 << (LIMB_BITS - 1));
}

/* Replaces limbs, the last one first: 2^252 is this number, modulo the order. */
static void fold(int64_t *limbs, int last, int first)
{
    static const int32_t residue[] = {666643, 470296, 654183, -997805, 136657, -683901};
    for (int i = last; i >= first; i--) {
        for (int j = 0; j < 6; j++) {
            limbs[i - 12 + j] += limbs[i] * residue[j];
        }
        limbs[i] = 0;
    }
}

static void reduce(unsigned char bytes[32], int64_t limbs[24])
{
    fold(limbs, 23, 18);
    carry_signed(limbs, 6, 16);
    fold(limbs, 17, 12);
    carry_signed(limbs, 0, 11);
    fold(limbs, 12, 12);
    carry(limbs, 0, 11, 1, 0);
    fold(limbs, 12, 12);
    carry(limbs, 0, 10, 1, 0);
    write_limbs(bytes, limbs);
}

void sc25519_reduce(unsigned char s[64])
{
    int64_t limbs[24];
    read_limbs(limbs, 24, s);
    reduce(s, limbs);
}

void sc25519_muladd(unsigned char s[32], const unsigned char a[32], const unsigned char b[32],
                    const unsigned char c[32])
{
    int64_t a_limbs[12], b_limbs[12], sum[24] = {0};
    read_limbs(a_limbs, 12, a);
    read_limbs(b_limbs, 12, b);
    read_limbs(sum, 12, c);
    for (int i = 0; i < 12; i++) {
        for (int j = 0; j < 12; j++) {
            sum[i + j] += (int64_t)(int32_t)a_limbs[i] * (int32_t)b_limbs[j];
        }
    }
    carry_signed(sum, 0, 22);
    reduce(s, sum);
}
