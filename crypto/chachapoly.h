/*
 * chacha20-poly1305@openssh.com: sealing and opening one binary packet in place
 * (draft-ietf-sshm-chacha20-poly1305).
 *
 * A sealed packet is: 4 bytes of encrypted length, the encrypted body of that many bytes, a 16-byte
 * tag over both. `key` is 64 bytes as key exchange derives them: first the payload key K_2, then
 * the length key K_1. `sequence` is the packet's sequence number.
 *
 * Constant time. Secret: key, body, and the length until the tag has been checked.
 */
#ifndef WREN_CHACHAPOLY_H
#define WREN_CHACHAPOLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHACHAPOLY_KEY_BYTES    64
#define CHACHAPOLY_LENGTH_BYTES 4
#define CHACHAPOLY_TAG_BYTES    16

/* The length that the first four bytes of a sealed packet hold. Not authenticated yet: bound it,
 * and nothing else. */
uint32_t chachapoly_length(const uint8_t sealed[static CHACHAPOLY_LENGTH_BYTES],
                           const uint8_t key[static CHACHAPOLY_KEY_BYTES], uint32_t sequence);

/* `packet` holds the plain length field and `body_bytes` of body, and has room for the tag behind
 * them. */
void chachapoly_seal(uint8_t *packet, size_t body_bytes,
                     const uint8_t key[static CHACHAPOLY_KEY_BYTES], uint32_t sequence);

/* Checks the tag of a packet with `body_bytes` of body, then decrypts the body (not the length) in
 * place. Returns false, with the packet unchanged, if the tag is wrong. */
bool chachapoly_open(uint8_t *packet, size_t body_bytes,
                     const uint8_t key[static CHACHAPOLY_KEY_BYTES], uint32_t sequence);

#endif
