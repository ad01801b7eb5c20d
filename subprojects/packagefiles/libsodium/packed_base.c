/*
 * ed25519_ref10.c with a smaller table of the base point's multiples. There a field element of 255
 * bits takes 40 bytes, as its limbs; here 32, as bit-fields, which become limbs when an entry has
 * been chosen: 24 KiB in the place of 30. libsodium's own table and its two functions around it are
 * not linked, because nothing calls them.
 */
#define ge25519_scalarmult_base unpacked_scalarmult_base
#define ge25519_cmov8_base      unpacked_cmov8_base
#include "src/libsodium/crypto_core/ed25519/ref10/ed25519_ref10.c"
#undef ge25519_scalarmult_base
#undef ge25519_cmov8_base

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
