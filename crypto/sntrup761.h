/*
 * Streamlined NTRU Prime 761: encapsulation (NTRU Prime, NIST PQC round 3 submission;
 * draft-josefsson-ntruprime-streamlined section 3).
 *
 * The server only encapsulates, so that is all there is here. Constant time. Secret: `random`, the
 * shared secret.
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
 * Random bytes for one encapsulation out of few: ChaCha20's keystream with a seed, uniform and
 * fresh, for a key. That is what the kernel does for 3044 bytes as well, but slower and in a system
 * call. Constant time. Secret: both; the caller wipes them.
 */
void sntrup761_random(uint8_t random[static SNTRUP761_RANDOM_BYTES],
                      const uint8_t seed[static SNTRUP761_SEED_BYTES]);

/*
 * Any 1158 bytes are a public key: what is not a canonical encoding decodes to something, as in the
 * reference. `random` must be uniform and fresh; the caller wipes it.
 */
void sntrup761_encapsulate(uint8_t ciphertext[static SNTRUP761_CIPHERTEXT_BYTES],
                           uint8_t secret[static SNTRUP761_SECRET_BYTES],
                           const uint8_t public_key[static SNTRUP761_PUBLIC_KEY_BYTES],
                           const uint8_t random[static SNTRUP761_RANDOM_BYTES]);

#endif
