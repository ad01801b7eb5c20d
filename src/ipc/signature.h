/*
 * Signatures of ed25519 keys (RFC 8709) and of ed25519 keys in a FIDO authenticator (OpenSSH's
 * PROTOCOL.u2f).
 */
#ifndef WREN_SIGNATURE_H
#define WREN_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGNATURE_SK_PRESENT  0x01U /* a person touched the authenticator */
#define SIGNATURE_SK_VERIFIED 0x04U /* and proved by PIN or fingerprint who it is */

struct signature_key {
    uint32_t sk; /* 1: a FIDO authenticator's key, else 0 */
    uint8_t public_key[32];
    uint8_t application_hash[32]; /* SHA-256 of the application; zeros without sk */
};

struct signature {
    uint8_t bytes[64];
    uint8_t sk_flags;
    uint32_t sk_counter;
};

/*
 * True if the key has signed `data`. An authenticator signs
 *
 *     SHA-256(application) || flags || counter || SHA-256(data)
 *
 * and the caller must judge the flags. S >= L (RFC 8032 section 5.1.7) and keys of small order are
 * refused.
 */
bool signature_verify(const struct signature *signature, const struct signature_key *key,
                      const uint8_t *data, size_t data_bytes);

#endif
