#include <sodium.h>
#include <string.h>

#include "ssh_client.h"

/* K, H, a letter or a block, the session's identifier. */
#define DERIVED_BYTES (4 + 64 + 64 + 1 + 64)

void secrets_put_k(struct fields *fields, bool hybrid, const uint8_t k[static 64])
{
    if (hybrid) {
        fields_string(fields, k, 64);
        return;
    }
    size_t zeros = 0;
    while (zeros < 32 && k[zeros] == 0) {
        zeros++;
    }
    size_t pad = zeros < 32 && k[zeros] >= 0x80 ? 1 : 0;
    fields_put(fields, "(fr)", 0, pad, k + zeros, 32 - zeros);
}

size_t secrets_hash(bool hybrid, const void *bytes, size_t count, uint8_t out[static 64])
{
    if (hybrid) {
        crypto_hash_sha512(out, bytes, count);
        return crypto_hash_sha512_BYTES;
    }
    crypto_hash_sha256(out, bytes, count);
    return crypto_hash_sha256_BYTES;
}

void secrets_keep_h(struct secrets *secrets, const uint8_t *h, size_t h_bytes)
{
    memcpy(secrets->h, h, h_bytes);
    secrets->h_bytes = h_bytes;
    if (secrets->session_id_bytes == 0) {
        memcpy(secrets->session_id, h, h_bytes);
        secrets->session_id_bytes = h_bytes;
    }
}

/* HASH(K || H || letter || session_id), extended by HASH(K || H || K1). */
void secrets_key(const struct secrets *secrets, char letter, uint8_t key[static 64])
{
    uint8_t bytes[DERIVED_BYTES], made[128];
    struct fields hashed = {bytes, 0, sizeof(bytes), false};
    secrets_put_k(&hashed, secrets->hybrid, secrets->k);
    fields_bytes(&hashed, secrets->h, secrets->h_bytes);
    size_t both = hashed.used;
    fields_put(&hashed, "br", letter, secrets->session_id, secrets->session_id_bytes);
    size_t k1_bytes = secrets_hash(secrets->hybrid, bytes, hashed.used, made);
    hashed.used = both;
    fields_bytes(&hashed, made, k1_bytes);
    secrets_hash(secrets->hybrid, bytes, hashed.used, made + k1_bytes);
    memcpy(key, made, 64);
}
