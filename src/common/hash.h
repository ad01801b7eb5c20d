/*
 * The hash of a key exchange method: SHA-256 (curve25519-sha256) or SHA-512
 * (sntrup761x25519-sha512), fed piece by piece.
 */
#ifndef WREN_HASH_H
#define WREN_HASH_H

#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_MAX_BYTES 64

struct hash {
    bool sha512;
    union {
        crypto_hash_sha256_state sha256;
        crypto_hash_sha512_state sha512;
    } state;
};

void hash_begin(struct hash *hash, bool sha512);
void hash_bytes(struct hash *hash, const void *bytes, size_t count);
void hash_string(struct hash *hash, const void *bytes,
                 size_t count); /* with its length before it */

/* K as the method encodes it: of SHA-512's a string of 64 bytes, of SHA-256's an mpint of the first
 * 32 (RFC 8731 section 3.1; draft-josefsson-ntruprime-ssh section 3). */
void hash_secret(struct hash *hash, const uint8_t secret[static 64]);

/* Writes 32 or 64 bytes, returns how many, and wipes the state. */
size_t hash_end(struct hash *hash, uint8_t out[static HASH_MAX_BYTES]);

#endif
