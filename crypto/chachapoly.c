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
#include "zeros.h"

#define NONCE_BYTES 8
#define K_2_OFFSET  0
#define K_1_OFFSET  32

/* The keystream that a packet needs first, from one call of chacha20_pair(). */
struct keystream {
    uint8_t bytes[CHACHA20_PAIR_BYTES];
    size_t blocks; /* of K_2 */
};

#define LENGTH_OFFSET       0                          /* block 0 of K_1 */
#define POLY1305_KEY_OFFSET CHACHA20_BLOCK_BYTES       /* block 0 of K_2 */
#define BODY_OFFSET         (2 * CHACHA20_BLOCK_BYTES) /* block 1 of K_2 */

static void write_nonce(uint8_t nonce[static NONCE_BYTES], uint32_t sequence)
{
    uint64_t big_endian = htobe64(sequence);
    memcpy(nonce, &big_endian, NONCE_BYTES);
}

static void start(struct keystream *stream, size_t body_bytes,
                  const uint8_t key[static CHACHAPOLY_KEY_BYTES],
                  const uint8_t nonce[static NONCE_BYTES])
{
    stream->blocks = chacha20_pair(stream->bytes, BODY_OFFSET + body_bytes, key + K_1_OFFSET,
                                   key + K_2_OFFSET, nonce);
}

static void wipe(struct keystream *stream)
{
    write_zeros(stream->bytes, (1 + stream->blocks) * CHACHA20_BLOCK_BYTES);
}

static void xor_bytes(uint8_t *data, const uint8_t *keystream, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        data[i] ^= keystream[i];
    }
}

/* Applies the keystream that is there, and then more of it. */
static void xor_body(uint8_t *body, size_t body_bytes, const struct keystream *stream,
                     const uint8_t key_2[static 32], const uint8_t nonce[static NONCE_BYTES])
{
    size_t first_bytes = (stream->blocks - 1) * CHACHA20_BLOCK_BYTES;
    if (first_bytes > body_bytes) {
        first_bytes = body_bytes;
    }
    xor_bytes(body, stream->bytes + BODY_OFFSET, first_bytes);
    body += first_bytes;
    body_bytes -= first_bytes;
    if (body_bytes > 0) {
        chacha20_xor(body, body, body_bytes, key_2, nonce, stream->blocks);
    }
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
    struct keystream stream;
    write_nonce(nonce, sequence);
    start(&stream, body_bytes, key, nonce);
    xor_bytes(packet, stream.bytes + LENGTH_OFFSET, CHACHAPOLY_LENGTH_BYTES);
    xor_body(body, body_bytes, &stream, key + K_2_OFFSET, nonce);
    poly1305(body + body_bytes, packet, CHACHAPOLY_LENGTH_BYTES + body_bytes,
             stream.bytes + POLY1305_KEY_OFFSET);
    wipe(&stream);
}

bool chachapoly_open(uint8_t *packet, size_t body_bytes,
                     const uint8_t key[static CHACHAPOLY_KEY_BYTES], uint32_t sequence)
{
    uint8_t nonce[NONCE_BYTES];
    uint8_t tag[CHACHAPOLY_TAG_BYTES];
    uint8_t *body = packet + CHACHAPOLY_LENGTH_BYTES;
    struct keystream stream;
    write_nonce(nonce, sequence);
    start(&stream, body_bytes, key, nonce);
    poly1305(tag, packet, CHACHAPOLY_LENGTH_BYTES + body_bytes, stream.bytes + POLY1305_KEY_OFFSET);
    bool authentic = crypto_verify_16(tag, body + body_bytes) == 0;
    if (authentic) {
        xor_body(body, body_bytes, &stream, key + K_2_OFFSET, nonce);
    }
    /* With the right tag of a refused packet an attacker could forge that packet. */
    sodium_memzero(tag, sizeof(tag));
    wipe(&stream);
    return authentic;
}
