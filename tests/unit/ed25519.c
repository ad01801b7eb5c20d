/* What the daemon relies on in libsodium's Ed25519. */
#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#include "unit.h"
#include "vectors/hex.h"
#include "vectors/rfc8032.h"

#define VECTORS ((int)(sizeof(rfc8032_ed25519) / sizeof(rfc8032_ed25519[0])))

struct signed_message {
    uint8_t public_key[crypto_sign_PUBLICKEYBYTES];
    uint8_t message[64];
    size_t message_bytes;
    uint8_t signature[crypto_sign_BYTES];
};

static struct signed_message from_vector(const struct ed25519_vector *vector)
{
    struct signed_message it;
    ck_assert_uint_eq(unhex(it.public_key, sizeof(it.public_key), vector->public_key), 32);
    ck_assert_uint_eq(unhex(it.signature, sizeof(it.signature), vector->signature), 64);
    it.message_bytes = unhex(it.message, sizeof(it.message), vector->message);
    return it;
}

static bool verifies(const struct signed_message *it)
{
    return crypto_sign_verify_detached(it->signature, it->message, it->message_bytes,
                                       it->public_key) == 0;
}

UNIT_TIMEOUT(60);

TEST_EACH(signs_as_rfc_8032, VECTORS)
{
    const struct ed25519_vector *vector = &rfc8032_ed25519[_i];
    struct signed_message it = from_vector(vector);
    uint8_t seed[crypto_sign_SEEDBYTES], public_key[crypto_sign_PUBLICKEYBYTES];
    uint8_t secret_key[crypto_sign_SECRETKEYBYTES], signature[crypto_sign_BYTES];
    ck_assert_uint_eq(unhex(seed, sizeof(seed), vector->secret), sizeof(seed));
    crypto_sign_seed_keypair(public_key, secret_key, seed);
    ck_assert_mem_eq(public_key, it.public_key, sizeof(public_key));
    crypto_sign_detached(signature, NULL, it.message, it.message_bytes, secret_key);
    ck_assert_mem_eq(signature, it.signature, sizeof(signature));
    ck_assert(verifies(&it));
}

/* Where a verification is slow every fifth bit: at least one of each byte. */
TEST_EACH(refuses_every_flipped_bit, VECTORS)
{
    const size_t step = unit_is_slow() ? 5 : 1;
    struct signed_message it = from_vector(&rfc8032_ed25519[_i]);
    for (size_t bit = 0; bit < 8 * sizeof(it.signature); bit += step) {
        it.signature[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert(!verifies(&it));
        it.signature[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t bit = 0; bit < 8 * it.message_bytes; bit += step) {
        it.message[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert(!verifies(&it));
        it.message[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    ck_assert(verifies(&it));
}

/* L = 2^252 + 27742317777372353535851937790883648493 (RFC 8032 section 5.1), little-endian. */
static const uint8_t order[32] = {
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58,        0xd6,
    0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, [31] = 0x10,
};

/* S + L, S + 2 L, ... sign the same for a verifier that does not check (RFC 8032 section 5.1.7). */
TEST_EACH(refuses_s_from_the_order_on, VECTORS)
{
    struct signed_message it = from_vector(&rfc8032_ed25519[_i]);
    for (int multiple = 1; multiple < 15; multiple++) {
        sodium_add(it.signature + 32, order, sizeof(order));
        ck_assert(!verifies(&it));
    }
    memcpy(it.signature + 32, order, sizeof(order));
    ck_assert(!verifies(&it));
}

/* With a public key of low order and S = 0, R = the neutral element would sign anything. */
TEST(refuses_low_order_keys)
{
    struct signed_message it = {.public_key = {1}, .signature = {1}, .message_bytes = 3};
    ck_assert(!verifies(&it));
}

/*
 * Keys, public keys of X25519 and signatures, each made from the hash of those before. The hash at
 * the end is that of Debian's libsodium; that of the static builds has other code for the base
 * point and for scalars.
 */
TEST(many_are_those_of_debian)
{
    uint8_t chain[crypto_hash_sha512_BYTES], expected[sizeof(chain)],
        secret_key[crypto_sign_SECRETKEYBYTES];
    crypto_hash_sha512(chain, (const uint8_t *)"", 0);
    for (int i = 0; i < 300; i++) {
        struct signed_message it = {.message_bytes = sizeof(it.message)};
        uint8_t said[crypto_sign_BYTES + 2 * 32];
        crypto_sign_seed_keypair(it.public_key, secret_key, chain);
        crypto_scalarmult_base(said + crypto_sign_BYTES, chain + 32);
        memcpy(it.message, chain, sizeof(it.message));
        crypto_sign_detached(it.signature, NULL, it.message, it.message_bytes, secret_key);
        ck_assert(verifies(&it));
        memcpy(said, it.signature, crypto_sign_BYTES);
        memcpy(said + crypto_sign_BYTES + 32, it.public_key, 32);
        crypto_hash_sha512(chain, said, sizeof(said));
    }
    unhex(expected, sizeof(expected),
          "b9d8f924e034a3f9c981675a94f8bf40b17e5aaef216bcf6e2730d22c1b729b2"
          "fb109694b31b2385123941b7b0bf4e97b6deedcc3bab767d4934980eaea7fd0a");
    ck_assert_mem_eq(chain, expected, sizeof(chain));
}
