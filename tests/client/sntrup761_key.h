/*
 * Streamlined NTRU Prime 761, the client's half: key generation and decapsulation
 * (draft-josefsson-ntruprime-streamlined section 3). The daemon only encapsulates, so this is for
 * clients of the tests and benchmarks alone: not constant time.
 */
#ifndef WREN_SNTRUP761_KEY_H
#define WREN_SNTRUP761_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "sntrup761.h"
#include "sntrup761_code.h"

struct sntrup761_key {
    uint8_t public_key[SNTRUP761_PUBLIC_KEY_BYTES];
    int16_t h[SNTRUP761_P];        /* what the public key encodes */
    int8_t f[SNTRUP761_P];         /* short: 286 coefficients are +-1, the others 0 */
    int8_t g_inverse[SNTRUP761_P]; /* 1 / g in R/3 */
};

/* A fresh pair, from libsodium's random bytes. */
void sntrup761_key_make(struct sntrup761_key *key);

/* The secret that was encapsulated. False, and the secret zero, if the ciphertext is not one for
 * this key: where the specification has a secret that fits nothing, a client may as well say so. */
bool sntrup761_key_decapsulate(uint8_t secret[static SNTRUP761_SECRET_BYTES],
                               const struct sntrup761_key *key,
                               const uint8_t ciphertext[static SNTRUP761_CIPHERTEXT_BYTES]);

#endif
