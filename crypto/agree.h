/*
 * The two key agreements, server side: curve25519-sha256 (RFC 8731) and sntrup761x25519-sha512
 * (draft-josefsson-ntruprime-ssh).
 *
 * Secret: the X25519 secret, `random`, the shared secret. Constant time.
 */
#ifndef WREN_AGREE_H
#define WREN_AGREE_H

#include <stdbool.h>
#include <stdint.h>

#include "sntrup761.h"

#define AGREE_X25519_BYTES        32
#define AGREE_HYBRID_CLIENT_BYTES (SNTRUP761_PUBLIC_KEY_BYTES + AGREE_X25519_BYTES)
#define AGREE_HYBRID_SERVER_BYTES (SNTRUP761_CIPHERTEXT_BYTES + AGREE_X25519_BYTES)
#define AGREE_HYBRID_SECRET_BYTES 64

/* An ephemeral key pair: made in advance, used for one key exchange, then wiped. */
struct agree_key {
    uint8_t secret[AGREE_X25519_BYTES];
    uint8_t public_key[AGREE_X25519_BYTES];
};

/* `random` is 32 uniform bytes and becomes the secret. */
void agree_x25519_key(struct agree_key *pair, const uint8_t random[static AGREE_X25519_BYTES]);

/* Computes K of curve25519-sha256: X25519's output, whose bytes the mpint takes as big-endian.
 * Returns false, and K is zero, if the client's point has low order (RFC 8731 section 3). */
bool agree_x25519(uint8_t secret[static AGREE_X25519_BYTES], const struct agree_key *pair,
                  const uint8_t client[static AGREE_X25519_BYTES]);

/* Computes K (`secret`, which is hashed as a string) and Q_S (`server`) of sntrup761x25519-sha512
 * from Q_C (`client`). Returns false, and both are zero, if the client's X25519 point has low
 * order. */
bool agree_hybrid(uint8_t secret[static AGREE_HYBRID_SECRET_BYTES],
                  uint8_t server[static AGREE_HYBRID_SERVER_BYTES], const struct agree_key *pair,
                  const uint8_t client[static AGREE_HYBRID_CLIENT_BYTES],
                  const uint8_t random[static SNTRUP761_RANDOM_BYTES]);

#endif
