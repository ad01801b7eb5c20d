/* For crypto/sntrup761.c and crypto/sntrup761_code.c: known answers. */
#include "sntrup761.h"

#include <sodium.h>
#include <string.h>

#include "levels.h"
#include "sntrup761_code.h"
#include "unit.h"
#include "vectors/hex.h"
#include "vectors/sntrup761.h"

#define GUARD 0xc3

struct result {
    uint8_t ciphertext[SNTRUP761_CIPHERTEXT_BYTES];
    uint8_t guard;
    uint8_t secret[SNTRUP761_SECRET_BYTES];
    uint8_t second_guard;
};

static struct result encapsulate_at(enum cpu_level level, const uint8_t *public_key,
                                    const uint8_t *random)
{
    struct result result = {.guard = GUARD, .second_guard = GUARD};
    cpu_limit(level);
    sntrup761_encapsulate(result.ciphertext, result.secret, public_key, random);
    ck_assert_uint_eq(result.guard, GUARD);
    ck_assert_uint_eq(result.second_guard, GUARD);
    return result;
}

/* With each kernel that this processor has. */
static struct result encapsulate(const uint8_t public_key[static SNTRUP761_PUBLIC_KEY_BYTES],
                                 const uint8_t random[static SNTRUP761_RANDOM_BYTES])
{
    struct result baseline = encapsulate_at(CPU_BASELINE, public_key, random);
    for (enum cpu_level level = CPU_BASELINE + 1; level <= CPU_AVX512IFMA; level++) {
        struct result result = encapsulate_at(level, public_key, random);
        ck_assert_mem_eq(&result, &baseline, sizeof(result));
    }
    return baseline;
}

UNIT_BEFORE(levels_tell());
UNIT_TIMEOUT(60);

TEST_EACH(known_answers, COUNT_OF(sntrup761_kat))
{
    const struct sntrup761_vector *vector = &sntrup761_kat[_i];
    uint8_t random[SNTRUP761_RANDOM_BYTES], public_key[SNTRUP761_PUBLIC_KEY_BYTES];
    uint8_t ciphertext[SNTRUP761_CIPHERTEXT_BYTES], secret[SNTRUP761_SECRET_BYTES];
    ck_assert_uint_eq(unhex(random, sizeof(random), vector->random), sizeof(random));
    ck_assert_uint_eq(unhex(public_key, sizeof(public_key), vector->public_key),
                      sizeof(public_key));
    ck_assert_uint_eq(unhex(ciphertext, sizeof(ciphertext), vector->ciphertext),
                      sizeof(ciphertext));
    ck_assert_uint_eq(unhex(secret, sizeof(secret), vector->secret), sizeof(secret));
    struct result result = encapsulate(public_key, random);
    ck_assert_mem_eq(result.ciphertext, ciphertext, sizeof(ciphertext));
    ck_assert_mem_eq(result.secret, secret, sizeof(secret));
}

TEST_EACH(monotonous_bytes, COUNT_OF(sntrup761_edges))
{
    const struct sntrup761_edge *edge = &sntrup761_edges[_i];
    uint8_t random[SNTRUP761_RANDOM_BYTES], public_key[SNTRUP761_PUBLIC_KEY_BYTES];
    uint8_t secret[SNTRUP761_SECRET_BYTES];
    memset(random, edge->random, sizeof(random));
    memset(public_key, edge->public_key, sizeof(public_key));
    ck_assert_uint_eq(unhex(secret, sizeof(secret), edge->secret), sizeof(secret));
    struct result result = encapsulate(public_key, random);
    ck_assert_mem_eq(result.secret, secret, sizeof(secret));
}

/* Public keys of random bytes are no canonical encodings. */
TEST(random_bytes_as_the_second_implementation)
{
    uint8_t bytes[SNTRUP761_RANDOM_BYTES + SNTRUP761_PUBLIC_KEY_BYTES], key[32];
    uint8_t digest[crypto_hash_sha512_BYTES], expected[crypto_hash_sha512_BYTES];
    static const uint8_t nonce[8];
    crypto_hash_sha512_state hash;
    crypto_hash_sha512_init(&hash);
    for (int i = 0; i < SNTRUP761_STREAM_CASES; i++) {
        memset(key, i, sizeof(key));
        crypto_stream_chacha20(bytes, sizeof(bytes), nonce, key);
        struct result result = encapsulate(bytes + SNTRUP761_RANDOM_BYTES, bytes);
        crypto_hash_sha512_update(&hash, result.ciphertext, sizeof(result.ciphertext));
        crypto_hash_sha512_update(&hash, result.secret, sizeof(result.secret));
    }
    crypto_hash_sha512_final(&hash, digest);
    ck_assert_uint_eq(unhex(expected, sizeof(expected), sntrup761_stream_digest), sizeof(expected));
    ck_assert_mem_eq(digest, expected, sizeof(digest));
}

TEST(random_bytes_out_of_a_seed)
{
    static const uint8_t nonce[8];
    uint8_t seed[SNTRUP761_SEED_BYTES], random[SNTRUP761_RANDOM_BYTES], expected[sizeof(random)];
    randombytes_buf(seed, sizeof(seed));
    crypto_stream_chacha20(expected, sizeof(expected), nonce, seed);
    sntrup761_random(random, seed);
    ck_assert_mem_eq(random, expected, sizeof(random));
}

/* Also where two encodings decode to the same polynomial: `confirm` is over the bytes. */
TEST(every_public_key_has_its_own_secret)
{
    uint8_t random[SNTRUP761_RANDOM_BYTES], public_key[SNTRUP761_PUBLIC_KEY_BYTES];
    randombytes_buf(random, sizeof(random));
    randombytes_buf(public_key, sizeof(public_key));
    struct result original = encapsulate(public_key, random);
    for (size_t i = 0; i < sizeof(public_key); i += 13) {
        public_key[i] ^= 0xff;
        struct result changed = encapsulate(public_key, random);
        ck_assert_mem_ne(original.ciphertext, changed.ciphertext, sizeof(original.ciphertext));
        ck_assert_mem_ne(original.secret, changed.secret, sizeof(original.secret));
        public_key[i] ^= 0xff;
    }
}

/* Encode as the NIST submission has it: a list of values and one of their moduli, which
 * need not be equal. Returns the number of bytes; `r` and `m` are used up. */
static size_t encode_slowly(uint8_t *out, uint32_t *r, uint32_t *m, size_t count)
{
    size_t bytes = 0;
    const uint32_t limit = count > 1 ? 16384 : 2; /* the last value is written out whole */
    for (size_t i = 0; i < (count + 1) / 2; i++) {
        bool paired = 2 * i + 1 < count;
        r[i] = paired ? r[2 * i] + m[2 * i] * r[2 * i + 1] : r[2 * i];
        m[i] = paired ? m[2 * i] * m[2 * i + 1] : m[2 * i];
        for (; (paired || count == 1) && m[i] >= limit; m[i] = (m[i] + 255) / 256) {
            out[bytes++] = (uint8_t)(r[i] % 256);
            r[i] /= 256;
        }
    }
    return count > 1 ? bytes + encode_slowly(out + bytes, r, m, (count + 1) / 2) : bytes;
}

static void encodes(const uint16_t from[static SNTRUP761_P])
{
    uint8_t bytes[SNTRUP761_ROUNDED_BYTES + 1], expected[2 * SNTRUP761_P];
    uint16_t values[SNTRUP761_P];
    /* GCC 14 also reads the number behind an odd last one, and does not use it. */
    uint32_t r[SNTRUP761_P + 1] = {0}, m[SNTRUP761_P + 1] = {0};
    for (size_t i = 0; i < SNTRUP761_P; i++) {
        values[i] = from[i];
        r[i] = from[i];
        m[i] = SNTRUP761_ROUNDED;
    }
    ck_assert_uint_eq(encode_slowly(expected, r, m, SNTRUP761_P), SNTRUP761_ROUNDED_BYTES);
    expected[SNTRUP761_ROUNDED_BYTES] = bytes[SNTRUP761_ROUNDED_BYTES] = GUARD;
    sntrup761_encode_rounded(bytes, values);
    ck_assert_mem_eq(bytes, expected, sizeof(bytes));
}

/* 0 everywhere, the largest value everywhere, one largest value at each place, and any. */
TEST(encodes_as_the_submission)
{
    uint16_t values[SNTRUP761_P] = {0};
    encodes(values);
    for (size_t i = 0; i < SNTRUP761_P; i++) {
        values[i] = SNTRUP761_ROUNDED - 1;
        encodes(values);
        values[i] = 0;
    }
    for (size_t i = 0; i < SNTRUP761_P; i++) {
        values[i] = SNTRUP761_ROUNDED - 1;
    }
    encodes(values);
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < SNTRUP761_P; i++) {
            values[i] = (uint16_t)randombytes_uniform(SNTRUP761_ROUNDED);
        }
        encodes(values);
    }
}

TEST(decodes_below_q_whatever_comes)
{
    uint8_t bytes[SNTRUP761_RQ_BYTES];
    uint16_t values[SNTRUP761_P];
    for (int round = 0; round < 2000; round++) {
        randombytes_buf(bytes, sizeof(bytes));
        if (round < 256) {
            memset(bytes, round, sizeof(bytes));
        }
        sntrup761_decode_rq(values, bytes);
        /* One assertion a round: each writes to a file. */
        uint16_t largest = 0;
        for (size_t i = 0; i < SNTRUP761_P; i++) {
            largest = values[i] > largest ? values[i] : largest;
        }
        ck_assert_uint_lt(largest, SNTRUP761_Q);
    }
}

/* Digits of base 4, the first lowest: -1, 0, 1 are 0, 1, 2. */
TEST(encodes_short_polynomials)
{
    int8_t r[SNTRUP761_P] = {-1, 0, 1, 0};
    uint8_t bytes[SNTRUP761_SHORT_BYTES];
    r[SNTRUP761_P - 1] = 1;
    sntrup761_encode_short(bytes, r);
    ck_assert_uint_eq(bytes[0], 0 | 1 << 2 | 2 << 4 | 1 << 6);
    ck_assert_uint_eq(bytes[1], 0x55);
    ck_assert_uint_eq(bytes[SNTRUP761_SHORT_BYTES - 1], 2);
}
