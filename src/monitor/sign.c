/*
 * H = HASH(V_C || V_S || I_C || I_S || K_S || Q_C || Q_S || K), each but K as a string.
 *
 * We write the length of each string ourselves. So a hostile network process can't move bytes
 * between fields to get the H of another exchange.
 */
#include "monitor_internal.h"

#include <sodium.h>

#include "agree.h"

#define PROVE "hostkeys-prove-00@openssh.com"

static size_t client_public_bytes(const struct ipc_sign *request)
{
    return request->hybrid != 0 ? AGREE_HYBRID_CLIENT_BYTES : AGREE_X25519_BYTES;
}

static size_t server_public_bytes(const struct ipc_sign *request)
{
    return request->hybrid != 0 ? AGREE_HYBRID_SERVER_BYTES : AGREE_X25519_BYTES;
}

size_t sign_tail_bytes(const void *sign)
{
    const struct ipc_sign *request = sign;
    if (request->hybrid > 1 || request->certified > 1 ||
        request->client_version_bytes > LIMIT_VERSION_LINE_BYTES ||
        request->client_kexinit_bytes > LIMIT_CLIENT_KEXINIT_BYTES ||
        request->server_kexinit_bytes > LIMIT_KEXINIT_BYTES) {
        return REQUEST_TAIL_TOO_LONG;
    }
    return (size_t)request->client_version_bytes + request->client_kexinit_bytes +
           request->server_kexinit_bytes + client_public_bytes(request) +
           server_public_bytes(request);
}

bool sign_has_cookie(const struct ipc_sign *request, const uint8_t *tail,
                     const uint8_t cookie[static SSH_COOKIE_BYTES])
{
    const uint8_t *i_s = tail + request->client_version_bytes + request->client_kexinit_bytes;
    return request->server_kexinit_bytes > SSH_COOKIE_BYTES &&
           memcmp(i_s + 1, cookie, SSH_COOKIE_BYTES) == 0;
}

static const uint8_t *hash_field(struct exchange_hash *hash, const uint8_t *field, size_t count)
{
    exchange_hash_string(hash, field, count);
    return field + count;
}

size_t sign_exchange_hash(uint8_t h[static HASH_MAX_BYTES], const struct ipc_sign *request,
                          const uint8_t *tail, const struct hostkey *hostkey)
{
    struct exchange_hash hash;
    uint8_t blob[HOSTKEY_BLOB_BYTES];
    size_t k_s_bytes;
    const uint8_t *k_s = hostkey_k_s(hostkey, request->certified != 0, blob, &k_s_bytes);
    exchange_hash_begin(&hash, request->hybrid != 0);
    const uint8_t *at = hash_field(&hash, tail, request->client_version_bytes);
    exchange_hash_string(&hash, SSH_SERVER_VERSION, strlen(SSH_SERVER_VERSION));
    at = hash_field(&hash, at, request->client_kexinit_bytes);
    at = hash_field(&hash, at, request->server_kexinit_bytes);
    exchange_hash_string(&hash, k_s, k_s_bytes);
    at = hash_field(&hash, at, client_public_bytes(request));
    hash_field(&hash, at, server_public_bytes(request));
    exchange_hash_secret(&hash, request->secret);
    return exchange_hash_end(&hash, h);
}

void sign_list_keys(struct ipc_start_reply *reply, const struct hostkey *hostkey)
{
    memcpy(reply->host_public_key, hostkey->first.public_key, sizeof(reply->host_public_key));
    reply->has_second = hostkey->has_second ? 1 : 0;
    memcpy(reply->second_public_key, hostkey->second.public_key, sizeof(reply->second_public_key));
    reply->certificate_bytes = (uint32_t)hostkey->certificate_bytes;
    memcpy(reply->certificate, hostkey->certificate, hostkey->certificate_bytes);
}

void sign_proof(uint8_t signature[static 64], const struct hostkey *hostkey, bool second,
                const uint8_t *session_id, size_t session_id_bytes)
{
    struct writer writer;
    uint8_t blob[HOSTKEY_BLOB_BYTES];
    uint8_t data[3 * 4 + sizeof(PROVE) + HASH_MAX_BYTES + HOSTKEY_BLOB_BYTES];
    hostkey_blob(blob, second ? hostkey->second.public_key : hostkey->first.public_key);
    writer_init(&writer, data, sizeof(data));
    writer_text(&writer, PROVE);
    writer_string(&writer, session_id, session_id_bytes);
    writer_string(&writer, blob, sizeof(blob));
    crypto_sign_detached(signature, NULL, data, writer.used,
                         second ? hostkey->second.secret_key : hostkey->first.secret_key);
}

/* ---- what a client signs --------------------------------------------------------------------- */

/*
 * string    session identifier
 * byte      SSH_MSG_USERAUTH_REQUEST
 * string    user name
 * string    "ssh-connection"
 * string    "publickey" or "publickey-hostbound-v00@openssh.com"
 * boolean   TRUE
 * string    algorithm, which is the key type's name
 * string    public key blob
 * string    K_S of the first key exchange (hostbound only)
 */
size_t sign_login_data(uint8_t out[static SIGN_LOGIN_BYTES], const struct login *login,
                       const struct ipc_auth *request, const uint8_t *blob)
{
    struct writer writer;
    uint8_t host_blob[HOSTKEY_BLOB_BYTES];
    writer_init(&writer, out, SIGN_LOGIN_BYTES);
    writer_string(&writer, login->session_id, login->session_id_bytes);
    writer_u8(&writer, SSH_MSG_USERAUTH_REQUEST);
    writer_text(&writer, request->user);
    writer_text(&writer, "ssh-connection");
    writer_text(&writer, request->hostbound ? "publickey-hostbound-v00@openssh.com" : "publickey");
    writer_bool(&writer, true);
    writer_text(&writer, ssh_key_types[request->key_type]);
    writer_string(&writer, blob, request->blob_bytes);
    if (request->hostbound) {
        size_t k_s_bytes;
        const uint8_t *k_s = hostkey_k_s(login->hostkey, login->hostkey->bound_to_certificate,
                                         host_blob, &k_s_bytes);
        writer_string(&writer, k_s, k_s_bytes);
    }
    return writer.failed ? 0 : writer.used;
}

/* Checks that the user touched the FIDO authenticator, and verified, where required (PROTOCOL.u2f).
 * Returns NULL, or what is missing. */
static const char *check_authenticator(const struct ipc_auth *request, const struct grant *grant)
{
    if (!ssh_key_type_is_sk(request->key_type)) {
        return NULL;
    }
    if ((grant->flags & GRANT_UNTOUCHED) == 0 && (request->sk_flags & SIGNATURE_SK_PRESENT) == 0) {
        return "FIDO key was not touched";
    }
    if ((grant->flags & GRANT_VERIFY) != 0 && (request->sk_flags & SIGNATURE_SK_VERIFIED) == 0) {
        return "FIDO key did not verify its user";
    }
    return NULL;
}

/* Trick: own frame; the session process would keep a copy of the caller's. */
__attribute__((noinline)) const char *sign_judge_login(const struct login *login,
                                                       const struct ipc_auth *request,
                                                       const uint8_t *blob,
                                                       const struct grant *grant)
{
    uint8_t data[SIGN_LOGIN_BYTES];
    struct signature signature = {.sk_flags = (uint8_t)request->sk_flags,
                                  .sk_counter = request->sk_counter};
    memcpy(signature.bytes, request->signature, sizeof(signature.bytes));
    size_t data_bytes = sign_login_data(data, login, request, blob);
    if (data_bytes == 0 || !signature_verify(&signature, &grant->key, data, data_bytes)) {
        return "bad signature";
    }
    return check_authenticator(request, grant);
}
