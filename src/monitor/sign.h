/*
 * The exchange hash H (RFC 5656 section 4), built from what the network process tells of an
 * exchange and what only we know to be true: our identification line and our host key.
 */
#ifndef WREN_SIGN_H
#define WREN_SIGN_H

#include <stddef.h>
#include <stdint.h>

#include "exchange_hash.h"
#include "hostkey.h"
#include "ipc.h"

/* Length of the request's tail, or SIZE_MAX if one of its lengths is out of range. */
size_t sign_tail_bytes(const struct ipc_sign *request);

/* Writes H and returns its 32 or 64 bytes' number. `tail` has sign_tail_bytes(). A request with
 * the certificate may only come if there is one. */
size_t sign_exchange_hash(uint8_t h[static HASH_MAX_BYTES], const struct ipc_sign *request,
                          const uint8_t *tail, const struct hostkey *hostkey);

/* Tells the network process what of the host keys is public. */
void sign_list_keys(struct ipc_start_reply *reply, const struct hostkey *hostkey);

/*
 * Signs string "hostkeys-prove-00@openssh.com", string session identifier, string key blob
 * (OpenSSH's PROTOCOL, section 2.5) with the first or the second host key.
 */
void sign_proof(uint8_t signature[static 64], const struct hostkey *hostkey, bool second,
                const uint8_t *session_id, size_t session_id_bytes);

#endif
