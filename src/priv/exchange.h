/*
 * The exchange hash H (RFC 5656 section 4), built from what the network process tells of an
 * exchange and what only we know to be true: our identification line and our host key.
 */
#ifndef WREN_EXCHANGE_H
#define WREN_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "hash.h"
#include "ipc.h"

/* Length of the request's tail, or SIZE_MAX if one of its lengths is out of range. */
size_t exchange_tail_bytes(const struct ipc_sign *request);

/* Writes H and returns its 32 or 64 bytes' number. `tail` has exchange_tail_bytes(). */
size_t exchange_hash(uint8_t h[static HASH_MAX_BYTES], const struct ipc_sign *request,
                     const uint8_t *tail, const uint8_t host_public_key[static 32]);

#endif
