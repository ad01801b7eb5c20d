#include "wire.h"

void exchange_hash_begin(struct exchange_hash *hash, bool sha512)
{
    hash->sha512 = sha512;
    if (sha512) {
        crypto_hash_sha512_init(&hash->state.sha512);
    } else {
        crypto_hash_sha256_init(&hash->state.sha256);
    }
}

void exchange_hash_bytes(struct exchange_hash *hash, const void *bytes, size_t count)
{
    if (hash->sha512) {
        crypto_hash_sha512_update(&hash->state.sha512, bytes, count);
    } else {
        crypto_hash_sha256_update(&hash->state.sha256, bytes, count);
    }
}

void exchange_hash_string(struct exchange_hash *hash, const void *bytes, size_t count)
{
    uint8_t length[4];
    big_endian_write(length, (uint32_t)count);
    exchange_hash_bytes(hash, length, sizeof(length));
    exchange_hash_bytes(hash, bytes, count);
}

void exchange_hash_secret(struct exchange_hash *hash, const uint8_t secret[static 64])
{
    uint8_t encoded[4 + 64];
    struct writer k;
    writer_init(&k, encoded, sizeof(encoded));
    if (hash->sha512) {
        writer_string(&k, secret, 64);
    } else {
        writer_mpint(&k, secret, 32);
    }
    exchange_hash_bytes(hash, encoded, k.used);
    sodium_memzero(encoded, sizeof(encoded));
}

size_t exchange_hash_end(struct exchange_hash *hash, uint8_t out[static HASH_MAX_BYTES])
{
    size_t count = hash->sha512 ? crypto_hash_sha512_BYTES : crypto_hash_sha256_BYTES;
    if (hash->sha512) {
        crypto_hash_sha512_final(&hash->state.sha512, out);
    } else {
        crypto_hash_sha256_final(&hash->state.sha256, out);
    }
    sodium_memzero(hash, sizeof(*hash));
    return count;
}
