/*
 * The hash function of a key exchange method, in steps: SHA-256 for curve25519-sha256, SHA-512 for
 * sntrup761x25519-sha512.
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

/* Adds a `string` of RFC 4251 section 5: a uint32 length and the bytes. */
void exchange_hash_string(struct exchange_hash *hash, const void *bytes, size_t count);

/* Adds K as the method encodes it: with SHA-512 a string of 64 bytes, with SHA-256 an mpint of the
 * first 32 (RFC 8731 section 3.1; draft-josefsson-ntruprime-ssh section 3). */
void exchange_hash_secret(struct exchange_hash *hash, const uint8_t secret[static 64]);

/* Writes the hash and wipes the state. Returns the hash's length, 32 or 64 bytes. */
size_t exchange_hash_end(struct exchange_hash *hash, uint8_t out[static HASH_MAX_BYTES]);

#endif
