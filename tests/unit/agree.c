#include "agree.h"

#include <sodium.h>
#include <string.h>

#include "unit.h"
#include "vectors/hex.h"
#include "vectors/rfc7748.h"
#include "vectors/sntrup761.h"

static struct agree_key key_from(const char *scalar)
{
    uint8_t random[AGREE_X25519_BYTES];
    struct agree_key pair;
    ck_assert_uint_eq(unhex(random, sizeof(random), scalar), sizeof(random));
    agree_x25519_key(&pair, random);
    return pair;
}

UNIT_TIMEOUT(60);

TEST_EACH(x25519_of_rfc_7748, COUNT_OF(rfc7748_x25519))
{
    const struct x25519_vector *vector = &rfc7748_x25519[_i];
    struct agree_key pair = key_from(vector->scalar);
    uint8_t point[32], expected[32], secret[32];
    ck_assert_uint_eq(unhex(point, sizeof(point), vector->point), sizeof(point));
    ck_assert_uint_eq(unhex(expected, sizeof(expected), vector->out), sizeof(expected));
    ck_assert(agree_x25519(secret, &pair, point));
    ck_assert_mem_eq(secret, expected, sizeof(expected));
}

TEST(public_key_of_rfc_7748)
{
    uint8_t expected[32];
    struct agree_key pair = key_from(rfc7748_x25519[2].scalar);
    ck_assert_uint_eq(unhex(expected, sizeof(expected), rfc7748_public_key), sizeof(expected));
    ck_assert_mem_eq(pair.public_key, expected, sizeof(expected));
}

TEST(x25519_iterated)
{
    struct agree_key pair = {.secret = {9}};
    uint8_t point[32] = {9}, out[32], once[32], thousand[32];
    ck_assert_uint_eq(unhex(once, sizeof(once), rfc7748_once), sizeof(once));
    ck_assert_uint_eq(unhex(thousand, sizeof(thousand), rfc7748_1000_times), sizeof(thousand));
    for (int i = 1; i <= 1000; i++) {
        ck_assert(agree_x25519(out, &pair, point));
        memcpy(point, pair.secret, sizeof(point));
        memcpy(pair.secret, out, sizeof(out));
        if (i == 1) {
            ck_assert_mem_eq(out, once, sizeof(once));
        }
    }
    ck_assert_mem_eq(out, thousand, sizeof(thousand));
}

/* The points of order 1, 2, 4 and 8 on the curve and its twist, in every encoding of 255 bits. */
static const char *const low_order_points[] = {
    "0000000000000000000000000000000000000000000000000000000000000000", /* 0 */
    "0100000000000000000000000000000000000000000000000000000000000000", /* 1 */
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800", /* order 8 */
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157", /* order 8 */
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", /* p - 1 */
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", /* p */
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", /* p + 1 */
};
#define LOW_ORDER_POINTS ((int)(sizeof(low_order_points) / sizeof(low_order_points[0])))

/* Test i uses point i / 2; odd ones set the high bit, which X25519 ignores. */
static void low_order_point(uint8_t point[static 32], int i)
{
    ck_assert_uint_eq(unhex(point, 32, low_order_points[i / 2]), 32);
    point[31] |= (uint8_t)(i % 2 << 7);
}

TEST_EACH(x25519_refuses_low_order, 2 * LOW_ORDER_POINTS)
{
    static const uint8_t zero[AGREE_X25519_BYTES];
    uint8_t point[32], random[32], secret[AGREE_X25519_BYTES];
    struct agree_key pair;
    randombytes_buf(random, sizeof(random));
    randombytes_buf(secret, sizeof(secret));
    agree_x25519_key(&pair, random);
    low_order_point(point, _i);
    ck_assert(!agree_x25519(secret, &pair, point));
    ck_assert_mem_eq(secret, zero, sizeof(zero));
}

TEST_EACH(hybrid_refuses_low_order, 2 * LOW_ORDER_POINTS)
{
    static const uint8_t zero[AGREE_HYBRID_SERVER_BYTES];
    uint8_t client[AGREE_HYBRID_CLIENT_BYTES], server[AGREE_HYBRID_SERVER_BYTES];
    uint8_t secret[AGREE_HYBRID_SECRET_BYTES], random[SNTRUP761_RANDOM_BYTES];
    struct agree_key pair;
    randombytes_buf(random, sizeof(random));
    randombytes_buf(server, sizeof(server));
    randombytes_buf(secret, sizeof(secret));
    randombytes_buf(client, sizeof(client));
    agree_x25519_key(&pair, random);
    low_order_point(client + SNTRUP761_PUBLIC_KEY_BYTES, _i);
    ck_assert(!agree_hybrid(secret, server, &pair, client, random));
    ck_assert_mem_eq(secret, zero, sizeof(secret));
    ck_assert_mem_eq(server, zero, sizeof(server));
}

/* The NIST KAT of sntrup761 and the exchange of RFC 7748 section 6.1 side by side. */
TEST_EACH(hybrid_joins_both, COUNT_OF(sntrup761_kat))
{
    const struct sntrup761_vector *kem = &sntrup761_kat[_i];
    const struct x25519_vector *x25519 = &rfc7748_x25519[2];
    uint8_t client[AGREE_HYBRID_CLIENT_BYTES], server[AGREE_HYBRID_SERVER_BYTES];
    uint8_t expected_server[AGREE_HYBRID_SERVER_BYTES], both[64], random[SNTRUP761_RANDOM_BYTES];
    uint8_t secret[AGREE_HYBRID_SECRET_BYTES], expected_secret[AGREE_HYBRID_SECRET_BYTES];
    struct agree_key pair = key_from(x25519->scalar);

    unhex(client, SNTRUP761_PUBLIC_KEY_BYTES, kem->public_key);
    unhex(client + SNTRUP761_PUBLIC_KEY_BYTES, 32, x25519->point);
    unhex(random, sizeof(random), kem->random);
    unhex(expected_server, SNTRUP761_CIPHERTEXT_BYTES, kem->ciphertext);
    unhex(expected_server + SNTRUP761_CIPHERTEXT_BYTES, 32, rfc7748_public_key);
    unhex(both, 32, kem->secret);
    unhex(both + 32, 32, x25519->out);
    crypto_hash_sha512(expected_secret, both, sizeof(both));

    ck_assert(agree_hybrid(secret, server, &pair, client, random));
    ck_assert_mem_eq(server, expected_server, sizeof(server));
    ck_assert_mem_eq(secret, expected_secret, sizeof(secret));
}
