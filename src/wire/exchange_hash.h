/*
 * The hash of a key exchange method: SHA-256 (curve25519-sha256) or SHA-512
 * (sntrup761x25519-sha512), fed piece by piece.
 */
#ifndef WREN_EXCHANGE_HASH_H
#define WREN_EXCHANGE_HASH_H

#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_MAX_BYTES 64

struct exchange_hash {
    bool sha512;
    union {
        crypto_hash_sha256_state sha256;
        crypto_hash_sha512_state sha512;
    } state;
};

void exchange_hash_begin(struct exchange_hash *hash, bool sha512);
void exchange_hash_bytes(struct exchange_hash *hash, const void *bytes, size_t count);
void exchange_hash_string(struct exchange_hash *hash, const void *bytes,
                          size_t count); /* with its length before it */

/* K as the method encodes it: of SHA-512's a string of 64 bytes, of SHA-256's an mpint of the first
 * 32 (RFC 8731 section 3.1; draft-josefsson-ntruprime-ssh section 3). */
void exchange_hash_secret(struct exchange_hash *hash, const uint8_t secret[static 64]);

/* Writes 32 or 64 bytes, returns how many, and wipes the state. */
size_t exchange_hash_end(struct exchange_hash *hash, uint8_t out[static HASH_MAX_BYTES]);

#endif
