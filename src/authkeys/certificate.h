/*
 * User certificates (PROTOCOL.certkeys): ssh-ed25519-cert-v01@openssh.com and its FIDO variant,
 * signed by an ed25519 or sk-ssh-ed25519 authority.
 */
#ifndef WREN_CERTIFICATE_H
#define WREN_CERTIFICATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "authkeys.h"
#include "grant.h"
#include "reader.h"
#include "user_key.h"

/* The readers point into the blob that was read. */
struct certificate {
    struct key key;
    struct key authority;
    struct reader authority_type;
    uint64_t serial;
    uint64_t valid_after; /* seconds since 1970; valid_before is exclusive */
    uint64_t valid_before;
    uint32_t type;
    struct reader key_id;
    struct reader principals;
    struct reader critical;
    struct reader extensions;
    struct reader signature;
    const uint8_t *signed_bytes;
    size_t signed_count;
};

/* Reads a whole certificate of the plain type or of the FIDO type. Judges nothing. If it fails for
 * the type of the authority's key, `authority_type` names that. */
bool certificate_read(struct certificate *certificate, bool sk, const uint8_t *blob,
                      size_t blob_bytes);

/* True if the authority that it names has signed it. */
bool certificate_is_signed(const struct certificate *certificate);

/* True if `name` is among its principals. A certificate without principals is for nobody. */
bool certificate_names(const struct certificate *certificate, const char *name);

/* True if one of its principals is in the comma-separated list. */
bool certificate_names_one_of(const struct certificate *certificate, struct reader list);

/*
 * Judges the certificate's signature, type, validity and options, and narrows the grant by them.
 * The caller judges the principals. If the line and the certificate both force a command, it must
 * be the same one.
 */
enum authkeys_reason certificate_narrow(struct grant *grant,
                                        char option[static AUTHKEYS_OPTION_BYTES],
                                        const struct certificate *certificate,
                                        const struct authkeys_query *query);

#endif
