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
#include "poly1305_state.h"
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

uint32_t chachapoly_length(const uint8_t sealed[static CHACHAPOLY_LENGTH_BYTES],
                           const uint8_t key[static CHACHAPOLY_KEY_BYTES], uint32_t sequence)
{
    uint8_t nonce[NONCE_BYTES];
    uint32_t length;
    write_nonce(nonce, sequence);
    chacha20_xor((uint8_t *)&length, sealed, sizeof(length), key + K_1_OFFSET, nonce, 0);
    return be32toh(length);
}

/*
 * Long bodies are encrypted and authenticated at the same time, where the processor has a kernel
 * for that. It absorbs fewer bytes than it encrypts; the rest is faster with Poly1305's own kernel.
 * So the bytes that are absorbed meanwhile
 *
 *     begin at the packet's begin when it is sealed: the kernel stays behind what it has encrypted
 *     end near the packet's end when it is opened: it stays ahead of what it has decrypted
 */
struct parts {
    size_t first_bytes; /* of the body: their keystream is there */
    size_t strides;     /* after them, of the kernel */
    size_t absorbed_bytes;
};

#define LEAST_BODY_BYTES 1536 /* for less it is not worth it, and first_bytes might be too few */
#define LAST_BYTES       128  /* stay encrypted until the tag has been checked */

static struct parts divide(size_t body_bytes, const struct keystream *stream)
{
    size_t there = (stream->blocks - 1) * CHACHA20_BLOCK_BYTES;
    struct parts parts = {.first_bytes = there < body_bytes ? there : body_bytes};
    if (body_bytes >= LEAST_BODY_BYTES && chacha20_can_absorb()) {
        parts.strides = (body_bytes - there - LAST_BYTES) / CHACHA20_ABSORBING_BYTES;
        parts.absorbed_bytes = parts.strides * CHACHA20_ABSORBED_BYTES;
    }
    return parts;
}

/* Applies the keystream to the body before and after the strides. */
static void xor_ends(uint8_t *body, size_t body_bytes, const struct parts *parts,
                     const struct keystream *stream, const uint8_t key_2[static 32],
                     const uint8_t nonce[static NONCE_BYTES])
{
    size_t end = parts->first_bytes + parts->strides * CHACHA20_ABSORBING_BYTES;
    xor_bytes(body, stream->bytes + BODY_OFFSET, parts->first_bytes);
    if (end < body_bytes) {
        chacha20_xor(body + end, body + end, body_bytes - end, key_2, nonce,
                     1 + end / CHACHA20_BLOCK_BYTES);
    }
}

void chachapoly_seal(uint8_t *packet, size_t body_bytes,
                     const uint8_t key[static CHACHAPOLY_KEY_BYTES], uint32_t sequence)
{
    uint8_t nonce[NONCE_BYTES];
    uint8_t *body = packet + CHACHAPOLY_LENGTH_BYTES;
    struct keystream stream;
    struct poly1305_state state;
    write_nonce(nonce, sequence);
    start(&stream, body_bytes, key, nonce);
    struct parts parts = divide(body_bytes, &stream);
    poly1305_begin(&state, stream.bytes + POLY1305_KEY_OFFSET);
    xor_bytes(packet, stream.bytes + LENGTH_OFFSET, CHACHAPOLY_LENGTH_BYTES);
    xor_ends(body, body_bytes, &parts, &stream, key + K_2_OFFSET, nonce);
    if (parts.strides > 0) {
        chacha20_xor_absorbing(body + parts.first_bytes, parts.strides, key + K_2_OFFSET, nonce,
                               stream.blocks, &state.scalars, packet);
    }
    poly1305_end(body + body_bytes, &state, packet + parts.absorbed_bytes,
                 CHACHAPOLY_LENGTH_BYTES + body_bytes - parts.absorbed_bytes);
    wipe(&stream);
}

/* Makes the tag of what was received, and decrypts the strides. */
static void authenticate(uint8_t tag[static CHACHAPOLY_TAG_BYTES], uint8_t *packet,
                         size_t body_bytes, const struct parts *parts,
                         const struct keystream *stream, const uint8_t key_2[static 32],
                         const uint8_t nonce[static NONCE_BYTES])
{
    struct poly1305_state state;
    size_t left = CHACHAPOLY_LENGTH_BYTES + body_bytes;
    uint8_t *at = packet;
    poly1305_begin(&state, stream->bytes + POLY1305_KEY_OFFSET);
    if (parts->strides > 0) {
        size_t before = (left - parts->absorbed_bytes) / LAST_BYTES * LAST_BYTES;
        poly1305_blocks(&state, packet, before);
        chacha20_xor_absorbing(packet + CHACHAPOLY_LENGTH_BYTES + parts->first_bytes,
                               parts->strides, key_2, nonce, stream->blocks, &state.scalars,
                               packet + before);
        at += before + parts->absorbed_bytes;
        left -= before + parts->absorbed_bytes;
    }
    poly1305_end(tag, &state, at, left);
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
    struct parts parts = divide(body_bytes, &stream);
    authenticate(tag, packet, body_bytes, &parts, &stream, key + K_2_OFFSET, nonce);
    bool authentic = crypto_verify_16(tag, body + body_bytes) == 0;
    if (authentic) {
        xor_ends(body, body_bytes, &parts, &stream, key + K_2_OFFSET, nonce);
    } else if (parts.strides > 0) {
        uint8_t *decrypted = body + parts.first_bytes;
        chacha20_xor(decrypted, decrypted, parts.strides * CHACHA20_ABSORBING_BYTES,
                     key + K_2_OFFSET, nonce, stream.blocks);
    }
    /* With the right tag of a refused packet an attacker could forge that packet. */
    sodium_memzero(tag, sizeof(tag));
    wipe(&stream);
    return authentic;
}
