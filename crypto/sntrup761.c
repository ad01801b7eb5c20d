/*
 * Encapsulation, draft-josefsson-ntruprime-streamlined section 3, with p = 761, q = 4591, w = 286:
 *   h          = Decode(public key)               in R/q, R = Z[x] / (x^p - x - 1)
 *   r          = random short polynomial          w coefficients are +-1, the others 0
 *   c          = Encode(Round(h r))               each coefficient to the nearest multiple of 3
 *   r_hash     = Hash_3(Encode(r))
 *   confirm    = Hash_2(r_hash || Hash_4(public key))
 *   ciphertext = c || confirm
 *   secret     = Hash_1(r_hash || ciphertext)
 * Hash_b(x) is the first 32 bytes of SHA-512(b || x).
 */
#include "sntrup761.h"

#include <endian.h>
#include <sodium.h>
#include <string.h>

#include "sntrup761_code.h"
#include "sort.h"

#define P          SNTRUP761_P
#define Q          SNTRUP761_Q
#define Q_HALF     ((Q - 1) / 2)
#define W          286
#define HASH_BYTES 32

/* A sum of GROUP products of a coefficient of R/q and one of a short polynomial fits 16 bits. */
#define GROUP        14
#define GROUPS       ((P + GROUP - 1) / GROUP)
#define PADDED_P     (GROUPS * GROUP)
#define WINDOW       (P + GROUP - 1)
#define PRODUCT_SIZE (PADDED_P - GROUP + WINDOW)

_Static_assert(GROUP *Q_HALF <= INT16_MAX, "GROUP products fit");
_Static_assert(SNTRUP761_RQ_BYTES == SNTRUP761_PUBLIC_KEY_BYTES, "a public key is h");
_Static_assert(SNTRUP761_ROUNDED_BYTES + HASH_BYTES == SNTRUP761_CIPHERTEXT_BYTES, "c, confirm");
_Static_assert(P * sizeof(uint32_t) == SNTRUP761_RANDOM_BYTES, "a word each coefficient");

/* Short: the low two bits of a word are the coefficient plus one (W even words for +-1, the others
 * for 0), the bits above put them into random order. */
static void make_short(int8_t r[static P], const uint8_t random[static SNTRUP761_RANDOM_BYTES])
{
    uint32_t words[P];
    memcpy(words, random, sizeof(words));
    for (size_t i = 0; i < P; i++) {
        uint32_t word = le32toh(words[i]);
        words[i] = i < W ? word & ~(uint32_t)1 : (word & ~(uint32_t)3) | 1;
    }
    sort_uint32(words, P);
    for (size_t i = 0; i < P; i++) {
        r[i] = (int8_t)((int)(words[i] & 3) - 1);
    }
    sodium_memzero(words, sizeof(words));
}

static void read_rq(int16_t h[static P], const uint8_t in[static SNTRUP761_RQ_BYTES])
{
    uint16_t values[P];
    sntrup761_decode_rq(values, in);
    for (size_t i = 0; i < P; i++) {
        h[i] = (int16_t)(values[i] - Q_HALF);
    }
}

/* product[k] += r[0] h[k] + r[1] h[k - 1] + ... over a group, where h[0] is padded[GROUP - 1] and
 * zeros stand around h. */
static void add_group(int32_t product[restrict static WINDOW],
                      const int16_t padded[restrict static WINDOW + GROUP - 1],
                      const int16_t r[restrict static GROUP])
{
    for (size_t k = 0; k < WINDOW; k++) {
        int16_t sum = 0;
        for (size_t j = 0; j < GROUP; j++) {
            sum = (int16_t)(sum + r[j] * padded[k + GROUP - 1 - j]);
        }
        product[k] += sum;
    }
}

/* The product as polynomials over the integers, of degree 2 (P - 1). */
static void multiply(int32_t product[static PRODUCT_SIZE], const int16_t h[static P],
                     const int8_t r[static P])
{
    int16_t padded[WINDOW + GROUP - 1] = {0};
    int16_t wide_r[PADDED_P] = {0};
    memcpy(padded + GROUP - 1, h, P * sizeof(*h));
    for (size_t i = 0; i < P; i++) {
        wide_r[i] = r[i];
    }
    memset(product, 0, PRODUCT_SIZE * sizeof(*product));
    for (size_t i = 0; i < PADDED_P; i += GROUP) {
        add_group(product + i, padded, wide_r + i);
    }
    sodium_memzero(wide_r, sizeof(wide_r));
}

/* The representative of value mod Q nearest to 0, for |value| < 2^23. The quotient is value / Q
 * rounded: that is at least 1 / (2 Q) away from where rounding changes, and the error of
 * multiplying by a rounded 2^40 / Q is below 2^-17. */
static int32_t reduce(int32_t value)
{
    const int64_t inverse = ((int64_t)1 << 40) / Q;
    const int64_t half = (int64_t)1 << 39;
    return value - Q * (int32_t)((value * inverse + half) >> 40);
}

/* Round takes v to 3 t, t = round(v / 3), and encoding stores t + Q_HALF / 3, which is
 * floor((v + Q_HALF + 1) / 3): 21846 / 2^16 is near enough to 1/3 for numbers up to Q. */
static uint16_t round_to_third(int32_t v)
{
    return (uint16_t)((uint32_t)(v + Q_HALF + 1) * 21846 >> 16);
}

/* c = Encode(Round(h r)) */
static void write_rounded_product(uint8_t out[static SNTRUP761_ROUNDED_BYTES],
                                  const int16_t h[static P], const int8_t r[static P])
{
    int32_t product[PRODUCT_SIZE];
    uint16_t rounded[P];
    multiply(product, h, r);
    /* x^i = x^(i-p+1) + x^(i-p) */
    for (size_t i = 2 * (P - 1); i >= P; i--) {
        product[i - P] += product[i];
        product[i - P + 1] += product[i];
    }
    for (size_t i = 0; i < P; i++) {
        rounded[i] = round_to_third(reduce(product[i]));
    }
    sntrup761_encode_rounded(out, rounded);
    sodium_memzero(product, sizeof(product));
    sodium_memzero(rounded, sizeof(rounded));
}

/* Hash_b(x || y) */
static void hash(uint8_t out[static HASH_BYTES], uint8_t b, const uint8_t *x, size_t x_bytes,
                 const uint8_t *y, size_t y_bytes)
{
    crypto_hash_sha512_state state;
    uint8_t full[crypto_hash_sha512_BYTES];
    (void)crypto_hash_sha512_init(&state);
    (void)crypto_hash_sha512_update(&state, &b, 1);
    (void)crypto_hash_sha512_update(&state, x, x_bytes);
    (void)crypto_hash_sha512_update(&state, y, y_bytes);
    (void)crypto_hash_sha512_final(&state, full);
    memcpy(out, full, HASH_BYTES);
    sodium_memzero(full, sizeof(full));
    sodium_memzero(&state, sizeof(state));
}

void sntrup761_encapsulate(uint8_t ciphertext[static SNTRUP761_CIPHERTEXT_BYTES],
                           uint8_t secret[static SNTRUP761_SECRET_BYTES],
                           const uint8_t public_key[static SNTRUP761_PUBLIC_KEY_BYTES],
                           const uint8_t random[static SNTRUP761_RANDOM_BYTES])
{
    static const uint8_t nothing[1];
    int16_t h[P];
    int8_t r[P];
    uint8_t encoded_r[SNTRUP761_SHORT_BYTES], r_hash[HASH_BYTES], key_hash[HASH_BYTES];
    uint8_t *confirm = ciphertext + SNTRUP761_ROUNDED_BYTES;

    read_rq(h, public_key);
    make_short(r, random);
    write_rounded_product(ciphertext, h, r);

    sntrup761_encode_short(encoded_r, r);
    hash(r_hash, 3, encoded_r, sizeof(encoded_r), nothing, 0);
    hash(key_hash, 4, public_key, SNTRUP761_PUBLIC_KEY_BYTES, nothing, 0);
    hash(confirm, 2, r_hash, sizeof(r_hash), key_hash, sizeof(key_hash));
    hash(secret, 1, r_hash, sizeof(r_hash), ciphertext, SNTRUP761_CIPHERTEXT_BYTES);

    sodium_memzero(r, sizeof(r));
    sodium_memzero(encoded_r, sizeof(encoded_r));
    sodium_memzero(r_hash, sizeof(r_hash));
}
