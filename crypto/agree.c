/*
 * curve25519-sha256:      K = X25519(secret, Q_C)
 * sntrup761x25519-sha512: Q_C = sntrup761 public key || X25519 public key
 *                         Q_S = sntrup761 ciphertext || X25519 public key
 *                         K = SHA-512(sntrup761 secret || X25519 secret)
 */
#include "agree.h"

#include <sodium.h>
#include <string.h>

_Static_assert(AGREE_X25519_BYTES == crypto_scalarmult_BYTES, "X25519 output");
_Static_assert(AGREE_X25519_BYTES == crypto_scalarmult_SCALARBYTES, "X25519 scalar");
_Static_assert(AGREE_HYBRID_SECRET_BYTES == crypto_hash_sha512_BYTES, "K is a SHA-512 hash");

void agree_x25519_key(struct agree_key *pair, const uint8_t random[static AGREE_X25519_BYTES])
{
    memcpy(pair->secret, random, sizeof(pair->secret));
    (void)crypto_scalarmult_base(pair->public_key, pair->secret);
}

bool agree_x25519(uint8_t secret[static AGREE_X25519_BYTES], const struct agree_key *pair,
                  const uint8_t client[static AGREE_X25519_BYTES])
{
    /* crypto_scalarmult() refuses points that are known to have low order, and an all-zero result.
     */
    bool agreed = crypto_scalarmult(secret, pair->secret, client) == 0;
    if (!agreed) {
        sodium_memzero(secret, AGREE_X25519_BYTES);
    }
    return agreed;
}

bool agree_hybrid(uint8_t secret[static AGREE_HYBRID_SECRET_BYTES],
                  uint8_t server[static AGREE_HYBRID_SERVER_BYTES], const struct agree_key *pair,
                  const uint8_t client[static AGREE_HYBRID_CLIENT_BYTES],
                  const uint8_t random[static SNTRUP761_RANDOM_BYTES])
{
    uint8_t both[SNTRUP761_SECRET_BYTES + AGREE_X25519_BYTES];
    bool agreed =
        agree_x25519(both + SNTRUP761_SECRET_BYTES, pair, client + SNTRUP761_PUBLIC_KEY_BYTES);
    if (agreed) {
        sntrup761_encapsulate(server, both, client, random);
        memcpy(server + SNTRUP761_CIPHERTEXT_BYTES, pair->public_key, AGREE_X25519_BYTES);
        (void)crypto_hash_sha512(secret, both, sizeof(both));
    } else {
        sodium_memzero(secret, AGREE_HYBRID_SECRET_BYTES);
        sodium_memzero(server, AGREE_HYBRID_SERVER_BYTES);
    }
    sodium_memzero(both, sizeof(both));
    return agreed;
}
