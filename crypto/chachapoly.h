/*
 * chacha20-poly1305@openssh.com: encrypts and decrypts one binary packet in place
 * (draft-ietf-sshm-chacha20-poly1305).
 *
 * An encrypted ("sealed") packet has 4 bytes of encrypted length, an encrypted body of that length,
 * and a tag of 16 bytes over both. `key` has the 64 bytes that the key exchange derives: first K_2
 * for the body, then K_1 for the length. `sequence` is the packet's sequence number.
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

/* Decrypts the length of a sealed packet. It is not authenticated: the caller must check that it is
 * within limits, and may use it only to wait for the whole packet. */
uint32_t chachapoly_length(const uint8_t sealed[static CHACHAPOLY_LENGTH_BYTES],
                           const uint8_t key[static CHACHAPOLY_KEY_BYTES], uint32_t sequence);

/* Encrypts a packet: the length field and `body_bytes` of body. There must be space for the tag
 * after them. */
void chachapoly_seal(uint8_t *packet, size_t body_bytes,
                     const uint8_t key[static CHACHAPOLY_KEY_BYTES], uint32_t sequence);

/* Checks the tag of a packet with `body_bytes` of body, then decrypts the body, but not the length.
 * Returns false if the tag is wrong; the packet is then unchanged. */
bool chachapoly_open(uint8_t *packet, size_t body_bytes,
                     const uint8_t key[static CHACHAPOLY_KEY_BYTES], uint32_t sequence);

#endif
