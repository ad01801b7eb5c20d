/*
 * Streamlined NTRU Prime 761: encapsulation (NTRU Prime, NIST PQC round 3 submission;
 * draft-josefsson-ntruprime-streamlined section 3).
 *
 * Only encapsulation, as a server needs no more. Constant time. Secret: `random`, the shared
 * secret.
 */
#ifndef WREN_SNTRUP761_H
#define WREN_SNTRUP761_H

#include <stdint.h>

#define SNTRUP761_PUBLIC_KEY_BYTES 1158
#define SNTRUP761_CIPHERTEXT_BYTES 1039
#define SNTRUP761_SECRET_BYTES     32
/* 761 little-endian 32-bit words, from which the short polynomial r is drawn. */
#define SNTRUP761_RANDOM_BYTES 3044
#define SNTRUP761_SEED_BYTES   32

/*
 * Makes the random bytes for one encapsulation from a seed: ChaCha20's keystream with the seed as
 * key. The seed must be uniform and used only once. The kernel makes 3044 random bytes in the same
 * way, but slower. Constant time. Secret: both; the caller wipes them.
 */
void sntrup761_random(uint8_t random[static SNTRUP761_RANDOM_BYTES],
                      const uint8_t seed[static SNTRUP761_SEED_BYTES]);

/*
 * Any 1158 bytes are a public key: a wrong encoding decodes to some polynomial, as in the
 * reference. `random` must be uniform and used only once; the caller wipes it.
 */
void sntrup761_encapsulate(uint8_t ciphertext[static SNTRUP761_CIPHERTEXT_BYTES],
                           uint8_t secret[static SNTRUP761_SECRET_BYTES],
                           const uint8_t public_key[static SNTRUP761_PUBLIC_KEY_BYTES],
                           const uint8_t random[static SNTRUP761_RANDOM_BYTES]);

#endif
