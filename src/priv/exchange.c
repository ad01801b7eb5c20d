/*
 * H = HASH(V_C || V_S || I_C || I_S || K_S || Q_C || Q_S || K), each but K as a string.
 *
 * Every length is written by us, so that no other exchange's fields, cut differently, give the same
 * H.
 */
#include "exchange.h"

#include <string.h>

#include "agree.h"
#include "hostkey.h"
#include "limit.h"
#include "numbers.h"

static size_t client_public_bytes(const struct ipc_sign *request)
{
    return request->hybrid != 0 ? AGREE_HYBRID_CLIENT_BYTES : AGREE_X25519_BYTES;
}

static size_t server_public_bytes(const struct ipc_sign *request)
{
    return request->hybrid != 0 ? AGREE_HYBRID_SERVER_BYTES : AGREE_X25519_BYTES;
}

size_t exchange_tail_bytes(const struct ipc_sign *request)
{
    if (request->hybrid > 1 || request->client_version_bytes > LIMIT_VERSION_LINE_BYTES ||
        request->client_kexinit_bytes > LIMIT_CLIENT_KEXINIT_BYTES ||
        request->server_kexinit_bytes > LIMIT_KEXINIT_BYTES) {
        return SIZE_MAX;
    }
    return (size_t)request->client_version_bytes + request->client_kexinit_bytes +
           request->server_kexinit_bytes + client_public_bytes(request) +
           server_public_bytes(request);
}

static const uint8_t *hash_field(struct hash *hash, const uint8_t *field, size_t count)
{
    hash_string(hash, field, count);
    return field + count;
}

size_t exchange_hash(uint8_t h[static HASH_MAX_BYTES], const struct ipc_sign *request,
                     const uint8_t *tail, const uint8_t host_public_key[static 32])
{
    struct hash hash;
    uint8_t k_s[HOSTKEY_BLOB_BYTES];
    hostkey_blob(k_s, host_public_key);
    hash_begin(&hash, request->hybrid != 0);
    const uint8_t *at = hash_field(&hash, tail, request->client_version_bytes);
    hash_string(&hash, SSH_SERVER_VERSION, strlen(SSH_SERVER_VERSION));
    at = hash_field(&hash, at, request->client_kexinit_bytes);
    at = hash_field(&hash, at, request->server_kexinit_bytes);
    hash_string(&hash, k_s, sizeof(k_s));
    at = hash_field(&hash, at, client_public_bytes(request));
    hash_field(&hash, at, server_public_bytes(request));
    hash_secret(&hash, request->secret);
    return hash_end(&hash, h);
}
