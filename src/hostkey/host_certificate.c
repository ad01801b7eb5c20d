/*
 *     string "ssh-ed25519-cert-v01@openssh.com", string nonce, string public key (32)
 *     uint64 serial, uint32 type (2: host), string key id, string principals
 *     uint64 valid after, uint64 valid before
 *     string critical options, string extensions, string reserved
 *     string the CA's public key, string signature
 */
#include "openssh_key.h"

#include <sodium.h>
#include <string.h>

#include "reader.h"
#include "ssh_key_types.h"
#include "text.h"

#define TYPE_HOST 2

static const char damaged[] = "is a damaged certificate";

static const char *check_certificate(struct reader blob, const uint8_t public_key[static 32])
{
    struct reader type = reader_string(&blob);
    reader_string(&blob); /* nonce */
    const uint8_t *certified = reader_string_of(&blob, 32);
    reader_bytes(&blob, 8); /* serial */
    uint32_t kind = reader_u32(&blob);
    reader_string(&blob);    /* key id */
    reader_string(&blob);    /* principals */
    reader_bytes(&blob, 16); /* validity */
    struct reader critical_options = reader_string(&blob);
    reader_string(&blob); /* extensions */
    reader_string(&blob); /* reserved */
    struct reader authority = reader_string(&blob);
    struct reader signature = reader_string(&blob);

    if (!reader_end(&blob) || !reader_is(&type, SSH_ED25519_CERT) || authority.left == 0 ||
        signature.left == 0) {
        return damaged;
    }
    if (kind != TYPE_HOST) {
        return "is a certificate of a user, not of a host (ssh-keygen -s CA -h)";
    }
    if (memcmp(certified, public_key, 32) != 0) {
        return "is the certificate of another key";
    }
    /* No critical option is defined for hosts, so clients refuse them all. */
    return critical_options.left != 0 ? "has critical options, which no client takes of a host"
                                      : NULL;
}

const char *host_certificate_parse(uint8_t certificate[static LIMIT_HOST_CERTIFICATE_BYTES],
                                   size_t *certificate_bytes, const char *text, size_t count,
                                   const uint8_t public_key[static 32])
{
    struct reader line = reader_over(text, count);
    const char *reason = damaged;
    size_t bytes = 0;
    *certificate_bytes = 0;
    if (!reader_take(&line, SSH_ED25519_CERT " ")) {
        return "is not a certificate of an ed25519 key";
    }
    const struct reader base64 = reader_until(&line, READER_BLANKS "\r\n");
    if (base64_decode(certificate, LIMIT_HOST_CERTIFICATE_BYTES, &bytes, (const char *)base64.bytes,
                      base64.left, NULL, sodium_base64_VARIANT_ORIGINAL)) {
        reason = check_certificate(reader_over(certificate, bytes), public_key);
    }
    if (reason == NULL) {
        *certificate_bytes = bytes;
    }
    return reason;
}
