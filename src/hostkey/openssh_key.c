/*
 *     -----BEGIN OPENSSH PRIVATE KEY-----
 *     base64 of:
 *         byte[15] "openssh-key-v1\0"
 *         string   cipher name, "none"
 *         string   kdf name, "none"
 *         string   kdf options, empty
 *         uint32   number of keys, 1
 *         string   public key: string "ssh-ed25519", string 32 bytes
 *         string   private part, a multiple of 8 bytes:
 *             uint32 check, uint32 the same again
 *             string "ssh-ed25519", string public key (32), string seed and public key (64)
 *             string comment
 *             byte[] 1, 2, 3, ...
 *     -----END OPENSSH PRIVATE KEY-----
 */
#include "hostkey_internal.h"

#include <sodium.h>

#include "base.h"
#include "wire.h"

#define BEGIN "-----BEGIN OPENSSH PRIVATE KEY-----"
#define END   "-----END OPENSSH PRIVATE KEY-----"
#define MAGIC "openssh-key-v1"

/* Decoded, a file of the largest size. */
#define DECODED_BYTES (OPENSSH_KEY_FILE_BYTES / 4 * 3)

/* ---- armour ---------------------------------------------------------------------------------- */

static enum hostkey_fault name_other_text(struct reader text)
{
    return reader_take(&text, "-----BEGIN ")           ? FAULT_PEM
           : reader_take(&text, "ssh-")                ? FAULT_PUBLIC
           : reader_take(&text, "PuTTY-User-Key-File") ? FAULT_PUTTY
                                                       : FAULT_NO_KEY;
}

/* Decodes what follows the first marker: base64 in lines, the last marker, line ends. */
static bool decode_armour(uint8_t decoded[static DECODED_BYTES], size_t *decoded_bytes,
                          struct reader text)
{
    const struct reader base64 = reader_until(&text, "-");
    struct reader line_end = base64;
    bool own_line = reader_take(&line_end, "\n") || reader_take(&line_end, "\r\n");
    bool ended = reader_take(&text, END);
    reader_span(&text, "\r\n");
    return own_line && ended && reader_end(&text) &&
           base64_decode(decoded, DECODED_BYTES, decoded_bytes, (const char *)base64.bytes,
                         base64.left, "\r\n", sodium_base64_VARIANT_ORIGINAL);
}

/* ---- contents -------------------------------------------------------------------------------- */

static enum hostkey_fault name_other_type(struct reader type)
{
    return reader_take(&type, "ssh-rsa")   ? FAULT_RSA
           : reader_take(&type, "ecdsa-")  ? FAULT_ECDSA
           : reader_take(&type, "ssh-dss") ? FAULT_DSA
           : reader_take(&type, "sk-")     ? FAULT_FIDO
                                           : FAULT_OTHER_TYPE;
}

static bool is_counted_up(const struct reader *padding)
{
    for (size_t i = 0; i < padding->left; i++) {
        if (padding->bytes[i] != (uint8_t)(i + 1)) {
            return false;
        }
    }
    return padding->left < 256;
}

/* All copies of the public key must be the one that the seed gives. */
static enum hostkey_fault read_private_part(struct reader part, const uint8_t *outer_public_key,
                                            struct hostkey_pair *pair)
{
    uint8_t derived[32];
    if (part.left % 8 != 0 || reader_u32(&part) != reader_u32(&part)) {
        return FAULT_DAMAGED;
    }
    struct reader type = reader_string(&part);
    const uint8_t *inner_public_key = reader_string_of(&part, 32);
    const uint8_t *secret = reader_string_of(&part, 64);
    reader_string(&part); /* comment */
    if (part.failed || !reader_is(&type, SSH_ED25519) || !is_counted_up(&part)) {
        return FAULT_DAMAGED;
    }
    if (!hostkey_derive(derived, secret) || memcmp(inner_public_key, derived, 32) != 0 ||
        memcmp(outer_public_key, derived, 32) != 0) {
        return FAULT_TWO_KEYS;
    }
    memcpy(pair->public_key, derived, 32);
    memcpy(pair->secret_key, secret, 64);
    return FAULT_NONE;
}

static enum hostkey_fault read_decoded(struct reader file, struct hostkey_pair *pair)
{
    const uint8_t *magic = reader_bytes(&file, sizeof(MAGIC));
    struct reader cipher = reader_string(&file);
    struct reader kdf = reader_string(&file);
    struct reader kdf_options = reader_string(&file);
    uint32_t keys = reader_u32(&file);
    struct reader public_part = reader_string(&file);
    struct reader private_part = reader_string(&file);
    const uint8_t *outer_public_key = ssh_ed25519_read(public_part);
    struct reader type = reader_string(&public_part);

    if (magic == NULL || memcmp(magic, MAGIC, sizeof(MAGIC)) != 0 || file.failed) {
        return FAULT_DAMAGED;
    }
    if (!reader_is(&cipher, "none")) {
        return FAULT_PASSPHRASE;
    }
    if (!reader_is(&kdf, "none") || kdf_options.left != 0) {
        return FAULT_DAMAGED;
    }
    if (keys != 1) {
        return FAULT_NOT_ONE_KEY;
    }
    if (!public_part.failed && !reader_is(&type, SSH_ED25519)) {
        return name_other_type(type);
    }
    if (outer_public_key == NULL || !reader_end(&file)) {
        return FAULT_DAMAGED;
    }
    return read_private_part(private_part, outer_public_key, pair);
}

enum hostkey_fault openssh_key_parse(struct hostkey_pair *pair, const char *text, size_t count)
{
    uint8_t decoded[DECODED_BYTES];
    size_t decoded_bytes = 0;
    enum hostkey_fault fault = FAULT_DAMAGED;
    memset(pair, 0, sizeof(*pair));
    struct reader rest = reader_over(text, count);
    if (!reader_take(&rest, BEGIN)) {
        return name_other_text(rest);
    }
    if (decode_armour(decoded, &decoded_bytes, rest)) {
        fault = read_decoded(reader_over(decoded, decoded_bytes), pair);
    }
    /* No more can have been written, even by a decoder that failed. */
    sodium_memzero(decoded, count < sizeof(decoded) ? count : sizeof(decoded));
    return fault;
}

enum hostkey_fault openssh_key_parse_public(uint8_t public_key[static 32], const char *text,
                                            size_t count)
{
    uint8_t blob[HOSTKEY_BLOB_BYTES];
    size_t bytes = 0;
    struct reader line = reader_over(text, count);
    memset(public_key, 0, 32);
    if (!reader_take(&line, SSH_ED25519 " ")) {
        return FAULT_NO_PUBLIC_KEY;
    }
    const size_t encoded = sizeof(blob) / 3 * 4;
    const uint8_t *base64 = reader_bytes(&line, encoded);
    if (base64 == NULL || !base64_decode(blob, sizeof(blob), &bytes, (const char *)base64, encoded,
                                         NULL, sodium_base64_VARIANT_ORIGINAL)) {
        return FAULT_DAMAGED_PUBLIC;
    }
    const uint8_t *found = ssh_ed25519_read(reader_over(blob, bytes));
    if (found == NULL) {
        return FAULT_DAMAGED_PUBLIC;
    }
    memcpy(public_key, found, 32);
    return FAULT_NONE;
}

/* ---- host certificates ----------------------------------------------------------------------- */

/*
 *     string "ssh-ed25519-cert-v01@openssh.com", string nonce, string public key (32)
 *     uint64 serial, uint32 type (2: host), string key id, string principals
 *     uint64 valid after, uint64 valid before
 *     string critical options, string extensions, string reserved
 *     string the CA's public key, string signature
 */

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
