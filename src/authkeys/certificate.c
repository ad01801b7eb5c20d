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
 * string    signature, over all fields before it
 */
#include "authkeys_internal.h"

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
    struct signature signature;
    if (!ssh_signature_read(&signature, certificate->signature, certificate->authority.sk)) {
        return false;
    }
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

/* ---- options --------------------------------------------------------------------------------- */

#define TYPE_USER 1

/* What a certificate permits and forces. Merged into the line's grant after all of it is read. */
struct certificate_terms {
    const char *address;
    uint32_t flags;
    struct reader command;
    bool has_source;
};

struct certificate_option {
    char name[sizeof("permit-agent-forwarding")];
    uint32_t flag;
    enum authkeys_reason (*handle)(struct certificate_terms *terms, struct reader data);
};

/* Data that is a text in a string; broken if it is anything else. */
static bool read_value(struct reader *value, struct reader data)
{
    *value = reader_string(&data);
    return reader_end(&data) && !reader_has_nul(value);
}

static enum authkeys_reason on_force_command(struct certificate_terms *terms, struct reader data)
{
    if ((terms->flags & GRANT_FORCED) != 0 || !read_value(&terms->command, data) ||
        terms->command.left >= LIMIT_FORCED_COMMAND_BYTES) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    terms->flags |= GRANT_FORCED;
    return AUTHKEYS_GOOD;
}

static enum authkeys_reason on_source_address(struct certificate_terms *terms, struct reader data)
{
    struct reader list;
    if (terms->has_source || !read_value(&list, data) || list.left >= LIMIT_OPTION_BYTES) {
        return AUTHKEYS_BROKEN_OPTION;
    }
    terms->has_source = true;
    return match_networks(list, terms->address);
}

static const struct certificate_option critical_options[] = {
    {"force-command", 0, on_force_command},
    {"source-address", 0, on_source_address},
    {"verify-required", GRANT_VERIFY, NULL},
    {"", 0, NULL},
};

static const struct certificate_option extensions[] = {
    {"permit-pty", GRANT_PTY, NULL},
    {"permit-user-rc", GRANT_USER_RC, NULL},
    {"no-touch-required", GRANT_UNTOUCHED, NULL},
    {"permit-port-forwarding", 0, NULL},
    {"permit-agent-forwarding", 0, NULL},
    {"permit-X11-forwarding", 0, NULL},
    {"", 0, NULL},
};

static enum authkeys_reason read_one(struct certificate_terms *terms,
                                     const struct certificate_option *known,
                                     const struct reader *name, struct reader data)
{
    while (known->name[0] != '\0' && !reader_is(name, known->name)) {
        known++;
    }
    if (known->name[0] == '\0') {
        return AUTHKEYS_UNKNOWN_OPTION;
    }
    if (known->handle != NULL) {
        return known->handle(terms, data);
    }
    terms->flags |= known->flag;
    return data.left == 0 ? AUTHKEYS_GOOD : AUTHKEYS_BROKEN_OPTION;
}

/* An unknown extension is ignored; an unknown critical option is an error. */
static enum authkeys_reason read_all(struct certificate_terms *terms,
                                     const struct certificate_option *known, struct reader list,
                                     char option[static AUTHKEYS_OPTION_BYTES])
{
    while (list.left > 0) {
        struct reader name = reader_string(&list);
        struct reader data = reader_string(&list);
        enum authkeys_reason reason =
            list.failed ? AUTHKEYS_BROKEN_OPTION : read_one(terms, known, &name, data);
        if (reason == AUTHKEYS_UNKNOWN_OPTION && known == extensions) {
            continue;
        }
        if (reason != AUTHKEYS_GOOD) {
            authkeys_name_option(option, name.bytes, name.left);
            return reason;
        }
    }
    return AUTHKEYS_GOOD;
}

static enum authkeys_reason merge_terms(struct grant *grant, const struct certificate_terms *terms)
{
    bool forces = (terms->flags & GRANT_FORCED) != 0;
    /* NOLINTBEGIN(clang-analyzer-core.NonNullParamChecker): a forced command has bytes. */
    if (forces && (grant->flags & GRANT_FORCED) != 0 &&
        (terms->command.left != grant->command_bytes ||
         memcmp(terms->command.bytes, grant->command, grant->command_bytes) != 0)) {
        return AUTHKEYS_COMMANDS_DIFFER;
    }
    if (forces) {
        memcpy(grant->command, terms->command.bytes, terms->command.left);
        grant->command[terms->command.left] = '\0';
        grant->command_bytes = (uint32_t)terms->command.left;
    }
    /* NOLINTEND(clang-analyzer-core.NonNullParamChecker) */
    uint32_t permitted = grant->flags & terms->flags & GRANT_PERMISSIONS;
    uint32_t restricted = (grant->flags | terms->flags) & GRANT_RESTRICTIONS;
    grant->flags = permitted | restricted | GRANT_CERTIFICATE;
    return AUTHKEYS_GOOD;
}

enum authkeys_reason certificate_narrow(struct grant *grant,
                                        char option[static AUTHKEYS_OPTION_BYTES],
                                        const struct certificate *certificate,
                                        const struct authkeys_query *query)
{
    struct certificate_terms terms = {.address = query->address};
    uint64_t now = (uint64_t)query->now;
    if (!certificate_is_signed(certificate)) {
        return AUTHKEYS_CERT_SIGNATURE;
    }
    if (certificate->type != TYPE_USER) {
        return AUTHKEYS_CERT_TYPE;
    }
    if (query->now < 0 || now < certificate->valid_after) {
        return AUTHKEYS_CERT_NOT_YET;
    }
    if (now >= certificate->valid_before) {
        return AUTHKEYS_CERT_EXPIRED;
    }
    enum authkeys_reason reason = read_all(&terms, critical_options, certificate->critical, option);
    if (reason == AUTHKEYS_GOOD) {
        reason = read_all(&terms, extensions, certificate->extensions, option);
    }
    return reason == AUTHKEYS_GOOD ? merge_terms(grant, &terms) : reason;
}
