/*
 * sealed = ChaCha20(K_1, block 0) ^ length || ChaCha20(K_2, from block 1) ^ body || tag
 * tag    = Poly1305(first 32 bytes of ChaCha20(K_2, block 0), encrypted length || encrypted body)
 *
 * The nonce of all of them is the sequence number as a big-endian uint64.
 */
#include "chachapoly.h"

#include <endian.h>
#include <sodium.h>
#include <string.h>

#include "chacha20.h"
#include "poly1305.h"

#define NONCE_BYTES        8
#define POLY1305_KEY_BYTES 32
#define K_2_OFFSET         0
#define K_1_OFFSET         32

static void write_nonce(uint8_t nonce[static NONCE_BYTES], uint32_t sequence)
{
    uint64_t big_endian = htobe64(sequence);
    memcpy(nonce, &big_endian, NONCE_BYTES);
}

static void make_tag(uint8_t tag[static CHACHAPOLY_TAG_BYTES], const uint8_t *packet,
                     size_t body_bytes, const uint8_t key_2[static 32],
                     const uint8_t nonce[static NONCE_BYTES])
{
    uint8_t poly1305_key[POLY1305_KEY_BYTES] = {0};
    chacha20_xor(poly1305_key, poly1305_key, sizeof(poly1305_key), key_2, nonce, 0);
    poly1305(tag, packet, CHACHAPOLY_LENGTH_BYTES + body_bytes, poly1305_key);
    sodium_memzero(poly1305_key, sizeof(poly1305_key));
}

uint32_t chachapoly_length(const uint8_t sealed[static CHACHAPOLY_LENGTH_BYTES],
                           const uint8_t key[static CHACHAPOLY_KEY_BYTES], uint32_t sequence)
{
    uint8_t nonce[NONCE_BYTES];
    uint32_t length;
    write_nonce(nonce, sequence);
    chacha20_xor((uint8_t *)&length, sealed, sizeof(length), key + K_1_OFFSET, nonce, 0);
    return be32toh(length);
}

void chachapoly_seal(uint8_t *packet, size_t body_bytes,
                     const uint8_t key[static CHACHAPOLY_KEY_BYTES], uint32_t sequence)
{
    uint8_t nonce[NONCE_BYTES];
    uint8_t *body = packet + CHACHAPOLY_LENGTH_BYTES;
    write_nonce(nonce, sequence);
    chacha20_xor(packet, packet, CHACHAPOLY_LENGTH_BYTES, key + K_1_OFFSET, nonce, 0);
    chacha20_xor(body, body, body_bytes, key + K_2_OFFSET, nonce, 1);
    make_tag(body + body_bytes, packet, body_bytes, key + K_2_OFFSET, nonce);
}

bool chachapoly_open(uint8_t *packet, size_t body_bytes,
                     const uint8_t key[static CHACHAPOLY_KEY_BYTES], uint32_t sequence)
{
    uint8_t nonce[NONCE_BYTES];
    uint8_t tag[CHACHAPOLY_TAG_BYTES];
    uint8_t *body = packet + CHACHAPOLY_LENGTH_BYTES;
    write_nonce(nonce, sequence);
    make_tag(tag, packet, body_bytes, key + K_2_OFFSET, nonce);
    bool authentic = sodium_memcmp(tag, body + body_bytes, sizeof(tag)) == 0;
    if (authentic) {
        chacha20_xor(body, body, body_bytes, key + K_2_OFFSET, nonce, 1);
    }
    /* The right tag of a refused packet would be a forgery. */
    sodium_memzero(tag, sizeof(tag));
    return authentic;
}
