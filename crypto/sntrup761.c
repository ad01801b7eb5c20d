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
#include <stddef.h>
#include <string.h>

#include "chacha20.h"
#include "cpu.h"
#include "sntrup761_code.h"
#include "sntrup761_kernel.h"

#define P          SNTRUP761_P
#define Q          SNTRUP761_Q
#define Q_HALF     ((Q - 1) / 2)
#define W          286
#define HASH_BYTES 32

_Static_assert(SNTRUP761_RQ_BYTES == SNTRUP761_PUBLIC_KEY_BYTES, "a public key is h");
_Static_assert(SNTRUP761_ROUNDED_BYTES + HASH_BYTES == SNTRUP761_CIPHERTEXT_BYTES, "c, confirm");
_Static_assert(P * sizeof(uint32_t) == SNTRUP761_RANDOM_BYTES, "a word each coefficient");

const struct sntrup761_kernel *sntrup761_best_kernel(void)
{
#if defined(__x86_64__)
    if (cpu_level() >= CPU_AVX2) {
        return &sntrup761_avx2;
    }
#elif defined(CPU_MAY_HAVE_NEON)
    if (cpu_level() >= CPU_NEON) {
        return &sntrup761_neon;
    }
#endif
    return &sntrup761_baseline;
}

/* Short: the low two bits of each word are its coefficient plus one (W even words for +-1, the
 * others for 0). Sorting by the random bits above puts them into random order. Half of the range is
 * subtracted, so that signed words have the order of unsigned ones. The largest words fill the rows
 * without a coefficient. */
static void make_short(int8_t r[static P], const uint8_t random[static SNTRUP761_RANDOM_BYTES],
                       const struct sntrup761_kernel *kernel)
{
    const uint32_t half_range = (uint32_t)1 << 31;
    uint32_t drawn[P];
    int32_t words[SNTRUP761_ROWS];
    memcpy(drawn, random, sizeof(drawn));
    for (size_t i = 0; i < W; i++) {
        words[i] = (int32_t)((le32toh(drawn[i]) & ~(uint32_t)1) ^ half_range);
    }
    for (size_t i = W; i < P; i++) {
        words[i] = (int32_t)(((le32toh(drawn[i]) & ~(uint32_t)3) | 1) ^ half_range);
    }
    for (size_t i = P; i < SNTRUP761_ROWS; i++) {
        words[i] = INT32_MAX;
    }
    kernel->sort(words);
    for (size_t i = 0; i < P; i++) {
        r[i] = (int8_t)((words[i] & 3) - 1);
    }
    sodium_memzero(drawn, sizeof(drawn));
    sodium_memzero(words, sizeof(words));
}

/* Subtracts Q if the value is above Q_HALF. The sign is used as a mask, so that there is no branch.
 * In 16 bits compilers process many values at once. */
static inline int16_t fall(int16_t value)
{
    int16_t room = (int16_t)(Q_HALF - value);
    return (int16_t)(value - (Q & (int16_t)(room >> 15)));
}

/* The representative mod Q nearest to 0, for values from -3 Q_HALF to 5 Q_HALF: the range of sums
 * of two coefficients and of the kernels' products. */
static inline int16_t reduce(int16_t value)
{
    return fall(fall(fall((int16_t)(value + Q))));
}

/*
 * The product h r is a matrix times r. If the coefficient of 1 is written as that of x^p, in the
 * last row, all numbers along a diagonal of the matrix are the same. The last row is h backwards:
 * h[p] = h[0], h[p - 1], ..., h[1]. Each row further up is moved by one place, so row k begins with
 * h[k]. After h[0], at place j > k of row k, stands the coefficient of x^k in x^j h, which x^p = x
 * + 1 makes of higher ones: h[p + k - j] + h[p + k - j - 1], again with h[0] for h[p].
 *
 * `window` has the number of each diagonal, one after the other. It is read forwards, so r is
 * reversed.
 */
static void make_window(int16_t window[static SNTRUP761_WINDOW], const uint16_t h[static P])
{
    int16_t *rotated = window + P - 1;
    for (size_t i = 0; i < P - 1; i++) {
        rotated[i] = (int16_t)(h[i + 1] - Q_HALF);
    }
    rotated[P - 1] = (int16_t)(h[0] - Q_HALF);
    for (size_t i = 0; i < P - 1; i++) {
        window[i] = reduce((int16_t)(rotated[i] + rotated[i + 1]));
    }
    memset(rotated + P, 0, (SNTRUP761_WINDOW - (2 * P - 1)) * sizeof(*window));
}

/* Round(v) is 3 t with t = round(v / 3). The encoding stores t + Q_HALF / 3, which is
 * floor((v + Q_HALF + 1) / 3). For numbers up to Q, a product with 21846 / 2^16 gives the same. */
static uint16_t round_to_third(int16_t v)
{
    uint16_t from_0 = (uint16_t)(v + Q_HALF + 1);
    return (uint16_t)((uint32_t)from_0 * 21846 >> 16);
}

/* c = Encode(Round(h r)) */
static void write_rounded_product(uint8_t out[static SNTRUP761_ROUNDED_BYTES],
                                  const uint8_t public_key[static SNTRUP761_RQ_BYTES],
                                  const int8_t r[static P], const struct sntrup761_kernel *kernel)
{
    int16_t window[SNTRUP761_WINDOW], reversed[SNTRUP761_TERMS] = {0}, product[SNTRUP761_ROWS];
    uint16_t values[P];
    sntrup761_decode_rq(values, public_key);
    make_window(window, values);
    for (size_t i = 0; i < P; i++) {
        reversed[i] = r[P - 1 - i]; /* NOLINT(bugprone-signed-char-misuse): a number, no letter */
    }
    kernel->multiply(product, window, reversed);
    values[0] = round_to_third(reduce(product[P - 1]));
    for (size_t i = 1; i < P; i++) {
        values[i] = round_to_third(reduce(product[i - 1]));
    }
    sntrup761_encode_rounded(out, values);
    sodium_memzero(reversed, sizeof(reversed));
    sodium_memzero(product, sizeof(product));
    sodium_memzero(values, sizeof(values));
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

void sntrup761_random(uint8_t random[static SNTRUP761_RANDOM_BYTES],
                      const uint8_t seed[static SNTRUP761_SEED_BYTES])
{
    static const uint8_t nonce[8];
    memset(random, 0, SNTRUP761_RANDOM_BYTES);
    chacha20_xor(random, random, SNTRUP761_RANDOM_BYTES, seed, nonce, 0);
}

void sntrup761_encapsulate(uint8_t ciphertext[static SNTRUP761_CIPHERTEXT_BYTES],
                           uint8_t secret[static SNTRUP761_SECRET_BYTES],
                           const uint8_t public_key[static SNTRUP761_PUBLIC_KEY_BYTES],
                           const uint8_t random[static SNTRUP761_RANDOM_BYTES])
{
    static const uint8_t nothing[1];
    const struct sntrup761_kernel *kernel = sntrup761_best_kernel();
    int8_t r[P];
    uint8_t encoded_r[SNTRUP761_SHORT_BYTES], r_hash[HASH_BYTES], key_hash[HASH_BYTES];
    uint8_t *confirm = ciphertext + SNTRUP761_ROUNDED_BYTES;

    make_short(r, random, kernel);
    write_rounded_product(ciphertext, public_key, r, kernel);

    sntrup761_encode_short(encoded_r, r);
    hash(r_hash, 3, encoded_r, sizeof(encoded_r), nothing, 0);
    hash(key_hash, 4, public_key, SNTRUP761_PUBLIC_KEY_BYTES, nothing, 0);
    hash(confirm, 2, r_hash, sizeof(r_hash), key_hash, sizeof(key_hash));
    hash(secret, 1, r_hash, sizeof(r_hash), ciphertext, SNTRUP761_CIPHERTEXT_BYTES);

    sodium_memzero(r, sizeof(r));
    sodium_memzero(encoded_r, sizeof(encoded_r));
    sodium_memzero(r_hash, sizeof(r_hash));
}
