/*
 * With p = 761, q = 4591, w = 286 (draft-josefsson-ntruprime-streamlined section 3):
 *   g          = random small polynomial, invertible in R/3
 *   f          = random short polynomial          w coefficients are +-1, the others 0
 *   h          = g / (3 f) in R/q                 the public key is Encode(h)
 * and of a ciphertext c || confirm:
 *   e          = 3 f c in R/q, then mod 3
 *   r          = e / g in R/3                     short, or the ciphertext is none
 *   c          = Encode(Round(h r)), or the ciphertext is none
 *   r_hash     = Hash_3(Encode(r))
 *   confirm    = Hash_2(r_hash || Hash_4(public key))
 *   secret     = Hash_1(r_hash || ciphertext)
 * Hash_b(x) is the first 32 bytes of SHA-512(b || x).
 */
#include "sntrup761_key.h"

#include <sodium.h>
#include <string.h>

#include "ring.h"

#define P          SNTRUP761_P
#define Q          SNTRUP761_Q
#define W          286
#define HASH_BYTES 32

/* The encodings' numbers below this bound are left for the next layer. */
#define LIMIT 16384

/* ---- Encode and Decode ----------------------------------------------------------------------- */

/* What a pair of numbers below these moduli becomes: so many bytes, and a number below `left`. */
struct split {
    unsigned bytes;
    uint32_t left;
};

static struct split split_of(uint32_t product, uint32_t limit)
{
    struct split split = {.left = product};
    for (; split.left >= limit; split.left = (split.left + 255) / 256) {
        split.bytes++;
    }
    return split;
}

static uint8_t *put(uint8_t *out, uint32_t *value, unsigned bytes)
{
    for (; bytes > 0; bytes--) {
        *out++ = (uint8_t)*value;
        *value >>= 8;
    }
    return out;
}

static uint32_t get(const uint8_t *in, unsigned bytes)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < bytes; i++) {
        value |= (uint32_t)in[i] << 8 * i;
    }
    return value;
}

/* Encode. `values` and `moduli` are used up. */
static void encode(uint8_t *out, uint32_t *values, uint32_t *moduli, size_t count)
{
    for (; count > 1; count = (count + 1) / 2) {
        for (size_t i = 0; i + 1 < count; i += 2) {
            uint32_t value = values[i] + moduli[i] * values[i + 1];
            struct split split = split_of(moduli[i] * moduli[i + 1], LIMIT);
            out = put(out, &value, split.bytes);
            values[i / 2] = value;
            moduli[i / 2] = split.left;
        }
        if (count % 2 == 1) {
            values[count / 2] = values[count - 1];
            moduli[count / 2] = moduli[count - 1];
        }
    }
    put(out, &values[0], split_of(moduli[0], 2).bytes);
}

/* Decode: each layer's pairs are known by their low bytes, which come first, and by the numbers of
 * the layer above. */
static void decode(uint32_t *values, const uint32_t *moduli, size_t count, const uint8_t *in)
{
    uint32_t low[P], above_moduli[P] = {0}, above[P];
    unsigned bytes[P];
    if (count == 1) {
        values[0] = get(in, split_of(moduli[0], 2).bytes) % moduli[0];
        return;
    }
    for (size_t i = 0; i + 1 < count; i += 2) {
        struct split split = split_of(moduli[i] * moduli[i + 1], LIMIT);
        low[i / 2] = get(in, split.bytes);
        bytes[i / 2] = split.bytes;
        above_moduli[i / 2] = split.left;
        in += split.bytes;
    }
    if (count % 2 == 1) {
        above_moduli[count / 2] = moduli[count - 1];
    }
    decode(above, above_moduli, (count + 1) / 2, in);
    for (size_t i = 0; i + 1 < count; i += 2) {
        uint32_t value = low[i / 2] + (above[i / 2] << 8 * bytes[i / 2]);
        values[i] = value % moduli[i];
        values[i + 1] = value / moduli[i] % moduli[i + 1];
    }
    if (count % 2 == 1) {
        values[count - 1] = above[count / 2];
    }
}

static void write_public_key(uint8_t out[static SNTRUP761_PUBLIC_KEY_BYTES],
                             const struct polynomial *h)
{
    uint32_t values[P], moduli[P];
    for (int i = 0; i < P; i++) {
        values[i] = (uint32_t)((int)h->at[i] + Q / 2);
        moduli[i] = Q;
    }
    encode(out, values, moduli, P);
}

static void read_rounded(struct polynomial *c, const uint8_t in[static SNTRUP761_ROUNDED_BYTES])
{
    uint32_t values[P], moduli[P];
    for (int i = 0; i < P; i++) {
        moduli[i] = SNTRUP761_ROUNDED;
    }
    decode(values, moduli, P, in);
    for (int i = 0; i < P; i++) {
        c->at[i] = (float)((int)values[i] * 3 - Q / 2);
    }
}

/* Round: each coefficient to the nearest multiple of 3. */
static void write_rounded(uint8_t out[static SNTRUP761_ROUNDED_BYTES],
                          const struct polynomial *product)
{
    uint32_t values[P], moduli[P];
    for (int i = 0; i < P; i++) {
        values[i] = (uint32_t)((int)product->at[i] + Q / 2 + 1) / 3;
        moduli[i] = SNTRUP761_ROUNDED;
    }
    encode(out, values, moduli, P);
}

/* ---- small polynomials ----------------------------------------------------------------------- */

static struct polynomial times(int factor, const int8_t small[static P])
{
    struct polynomial polynomial;
    for (int i = 0; i < P; i++) {
        polynomial.at[i] = (float)(factor * small[i]);
    }
    return polynomial;
}

static void keep_small(int8_t small[static P], const struct polynomial *polynomial)
{
    for (int i = 0; i < P; i++) {
        small[i] = (int8_t)polynomial->at[i];
    }
}

static void make_small(int8_t g[static P])
{
    uint32_t random[P];
    randombytes_buf(random, sizeof(random));
    for (int i = 0; i < P; i++) {
        g[i] = (int8_t)((int)((uint64_t)random[i] * 3 >> 32) - 1);
    }
}

/* W signs in front, then shuffled (R. Durstenfeld, 1964). */
static void make_short(int8_t f[static P])
{
    uint32_t random[2 * P];
    randombytes_buf(random, sizeof(random));
    for (int i = 0; i < P; i++) {
        f[i] = (int8_t)(i < W ? (int)(random[i] & 2) - 1 : 0);
    }
    for (uint32_t i = P - 1; i > 0; i--) {
        uint32_t other = (uint32_t)((uint64_t)random[P + i] * (i + 1) >> 32);
        int8_t kept = f[i];
        f[i] = f[other];
        f[other] = kept;
    }
}

static bool is_short(const int8_t r[static P])
{
    int weight = 0;
    for (int i = 0; i < P; i++) {
        weight += r[i] != 0 ? 1 : 0;
    }
    return weight == W;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Hash_b(x || y) */
static void hash(uint8_t out[static HASH_BYTES], uint8_t b, const uint8_t *x, size_t x_bytes,
                 const uint8_t *y, size_t y_bytes)
{
    crypto_hash_sha512_state state;
    uint8_t full[crypto_hash_sha512_BYTES];
    crypto_hash_sha512_init(&state);
    crypto_hash_sha512_update(&state, &b, 1);
    crypto_hash_sha512_update(&state, x, x_bytes);
    crypto_hash_sha512_update(&state, y, y_bytes);
    crypto_hash_sha512_final(&state, full);
    memcpy(out, full, HASH_BYTES);
}

void sntrup761_key_make(struct sntrup761_key *key)
{
    struct polynomial g, inverse, three_f, h;
    int8_t small[P];
    do {
        make_small(small);
        g = times(1, small);
    } while (!ring_invert(&inverse, &g, 3));
    keep_small(key->g_inverse, &inverse);
    /* x^p - x - 1 is irreducible mod q: every f but 0 has an inverse. */
    make_short(key->f);
    three_f = times(3, key->f);
    ring_invert(&inverse, &three_f, Q);
    ring_multiply(&h, &g, &inverse, Q);
    for (int i = 0; i < P; i++) {
        key->h[i] = (int16_t)h.at[i];
    }
    write_public_key(key->public_key, &h);
}

/* r from c. False unless c is what r is encapsulated as. */
static bool recover(int8_t r[static P], const struct sntrup761_key *key,
                    const uint8_t c_bytes[static SNTRUP761_ROUNDED_BYTES])
{
    struct polynomial c, e, product, three_f = times(3, key->f);
    struct polynomial g_inverse = times(1, key->g_inverse), h;
    uint8_t again[SNTRUP761_ROUNDED_BYTES];
    read_rounded(&c, c_bytes);
    ring_multiply(&e, &three_f, &c, Q);
    ring_reduce(&e, 3);
    ring_multiply(&product, &e, &g_inverse, 3);
    keep_small(r, &product);

    for (int i = 0; i < P; i++) {
        h.at[i] = key->h[i];
    }
    ring_multiply(&product, &product, &h, Q);
    write_rounded(again, &product);
    return is_short(r) && memcmp(again, c_bytes, sizeof(again)) == 0;
}

bool sntrup761_key_decapsulate(uint8_t secret[static SNTRUP761_SECRET_BYTES],
                               const struct sntrup761_key *key,
                               const uint8_t ciphertext[static SNTRUP761_CIPHERTEXT_BYTES])
{
    int8_t r[P];
    uint8_t encoded_r[SNTRUP761_SHORT_BYTES], r_hash[HASH_BYTES], key_hash[HASH_BYTES];
    uint8_t confirm[HASH_BYTES];
    bool is_one = recover(r, key, ciphertext);
    sntrup761_encode_short(encoded_r, r);
    hash(r_hash, 3, encoded_r, sizeof(encoded_r), NULL, 0);
    hash(key_hash, 4, key->public_key, sizeof(key->public_key), NULL, 0);
    hash(confirm, 2, r_hash, sizeof(r_hash), key_hash, sizeof(key_hash));
    if (!is_one || memcmp(confirm, ciphertext + SNTRUP761_ROUNDED_BYTES, sizeof(confirm)) != 0) {
        memset(secret, 0, SNTRUP761_SECRET_BYTES);
        return false;
    }
    hash(secret, 1, r_hash, sizeof(r_hash), ciphertext, SNTRUP761_CIPHERTEXT_BYTES);
    return true;
}
