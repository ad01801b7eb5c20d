/*
 * Everything that the host key signs, the exchange hash H (RFC 5656 section 4) and proofs of host
 * keys, and what a client signs to log in. H is built from the network process's fields and, as
 * that process may lie, from our own identification line and our own host key.
 */
#ifndef WREN_SIGN_H
#define WREN_SIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exchange_hash.h"
#include "grant.h"
#include "hostkey.h"
#include "ipc.h"
#include "ssh_numbers.h"

/* For the table of requests: the length of a struct ipc_sign's tail, or REQUEST_TAIL_TOO_LONG if
 * one of its lengths is out of range. */
size_t sign_tail_bytes(const void *sign);

/* True if I_S, our KEXINIT, has this cookie after its message number (RFC 4253 section 7.1). `tail`
 * has sign_tail_bytes(). */
bool sign_has_cookie(const struct ipc_sign *request, const uint8_t *tail,
                     const uint8_t cookie[static SSH_COOKIE_BYTES]);

/* Writes H and returns its length, 32 or 64 bytes. `tail` has sign_tail_bytes(). If the request is
 * `certified`, the host key must have a certificate. */
size_t sign_exchange_hash(uint8_t h[static HASH_MAX_BYTES], const struct ipc_sign *request,
                          const uint8_t *tail, const struct hostkey *hostkey);

/* Fills in the public parts of the host keys, for the network process. */
void sign_list_keys(struct ipc_start_reply *reply, const struct hostkey *hostkey);

/*
 * Signs string "hostkeys-prove-00@openssh.com", string session identifier, string key blob
 * (OpenSSH's PROTOCOL, section 2.5) with the first or the second host key.
 */
void sign_proof(uint8_t signature[static 64], const struct hostkey *hostkey, bool second,
                const uint8_t *session_id, size_t session_id_bytes);

/* Builds the data that a client signs (RFC 4252 section 7) in `out`. Returns its length, or 0 if it
 * does not fit. */
#define SIGN_LOGIN_BYTES (1024 + LIMIT_KEY_BLOB_BYTES + LIMIT_HOST_CERTIFICATE_BYTES)
struct login;
size_t sign_login_data(uint8_t out[static SIGN_LOGIN_BYTES], const struct login *login,
                       const struct ipc_auth *request, const uint8_t *blob);

/* Verifies the request's signature with the key that the child found in the blob; without one the
 * signature is bad. Returns NULL, or what is wrong with it or missing in it. */
const char *sign_judge_login(const struct login *login, const struct ipc_auth *request,
                             const uint8_t *blob, const struct grant *grant);

#endif
