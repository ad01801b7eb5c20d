/*
 * string    "ssh-ed25519-cert-v01@openssh.com"
 * string    nonce
 * string    pk [, string application]
 * uint64    serial
 * uint32    type: 1 user, 2 host
 * string    key id
 * string    valid principals
 * uint64    valid after
 * uint64    valid before
 * string    critical options
 * string    extensions
 * string    reserved
 * string    signature key
 * string    signature, over all that stands before it
 */
#include "certificate.h"

#include <string.h>

#include "match.h"
#include "ssh_key_types.h"

static bool are_principals_well_formed(struct reader list)
{
    while (list.left > 0) {
        struct reader name = reader_string(&list);
        if (reader_has_nul(&name)) {
            return false;
        }
    }
    return !list.failed;
}

bool certificate_read(struct certificate *certificate, bool sk, const uint8_t *blob,
                      size_t blob_bytes)
{
    struct reader rest = reader_over(blob, blob_bytes);
    memset(certificate, 0, sizeof(*certificate));
    struct reader kind = reader_string(&rest);
    reader_string(&rest); /* nonce */
    key_read_fields(&certificate->key, sk, &rest);
    certificate->serial = reader_u64(&rest);
    certificate->type = reader_u32(&rest);
    certificate->key_id = reader_string(&rest);
    certificate->principals = reader_string(&rest);
    certificate->valid_after = reader_u64(&rest);
    certificate->valid_before = reader_u64(&rest);
    certificate->critical = reader_string(&rest);
    certificate->extensions = reader_string(&rest);
    reader_string(&rest); /* reserved */
    struct reader authority = reader_string(&rest);
    struct reader fields = authority;
    certificate->authority_type = reader_string(&fields);
    certificate->signed_bytes = blob;
    certificate->signed_count = blob_bytes - rest.left;
    certificate->signature = reader_string(&rest);
    return reader_is(&kind, sk ? SSH_SK_ED25519_CERT : SSH_ED25519_CERT) && reader_end(&rest) &&
           key_read(&certificate->authority, authority) && !reader_has_nul(&certificate->key_id) &&
           are_principals_well_formed(certificate->principals);
}

bool certificate_is_signed(const struct certificate *certificate)
{
    struct signature_key verifier;
    struct signature signature = {.sk_flags = 0};
    struct reader rest = certificate->signature;
    bool sk = certificate->authority.sk;
    struct reader kind = reader_string(&rest);
    const uint8_t *bytes = reader_string_of(&rest, sizeof(signature.bytes));
    if (sk) {
        signature.sk_flags = reader_u8(&rest);
        signature.sk_counter = reader_u32(&rest);
    }
    if (!reader_is(&kind, sk ? SSH_SK_ED25519 : SSH_ED25519) || !reader_end(&rest)) {
        return false;
    }
    memcpy(signature.bytes, bytes, sizeof(signature.bytes));
    key_write_verifier(&verifier, &certificate->authority);
    return signature_verify(&signature, &verifier, certificate->signed_bytes,
                            certificate->signed_count);
}

bool certificate_names(const struct certificate *certificate, const char *name)
{
    struct reader list = certificate->principals;
    while (list.left > 0) {
        struct reader principal = reader_string(&list);
        if (principal.left > 0 && reader_is(&principal, name)) {
            return true;
        }
    }
    return false;
}

bool certificate_names_one_of(const struct certificate *certificate, struct reader list)
{
    struct reader principals = certificate->principals;
    while (principals.left > 0) {
        struct reader principal = reader_string(&principals);
        if (match_name(list, &principal)) {
            return true;
        }
    }
    return false;
}
