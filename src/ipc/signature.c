#include "grant.h"

#include <sodium.h>

#include "base.h"

#define SK_SIGNED_BYTES (32 + 1 + 4 + 32)

bool signature_verify(const struct signature *signature, const struct signature_key *key,
                      const uint8_t *data, size_t data_bytes)
{
    uint8_t sk_data[SK_SIGNED_BYTES];
    if (key->sk) {
        memcpy(sk_data, key->application_hash, 32);
        sk_data[32] = signature->sk_flags;
        big_endian_write(sk_data + 33, signature->sk_counter);
        crypto_hash_sha256(sk_data + 37, data, data_bytes);
        data = sk_data;
        data_bytes = sizeof(sk_data);
    }
    return crypto_sign_verify_detached(signature->bytes, data, data_bytes, key->public_key) == 0;
}
