/*
 * SHA-256 and SHA-512 (FIPS 180-4) in loops, in the place of hash_sha256_cp.c and hash_sha512_cp.c,
 * which write out every round. A message has less than 2^61 bytes, so that its
 * length in bits fits a word.
 */
#include <stdint.h>
#include <string.h>

#include "crypto_hash_sha256.h"
#include "crypto_hash_sha512.h"
#include "private/common.h"
#include "utils.h"

/* Of SHA-512, sections 4.2.3 and 5.3.5. SHA-256 has the first 32 bits of each (4.2.2, 5.3.3): both
 * take the first bits of the same roots. */
static const uint64_t constants[80] = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc,
    0x3956c25bf348b538, 0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118,
    0xd807aa98a3030242, 0x12835b0145706fbe, 0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2,
    0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235, 0xc19bf174cf692694,
    0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5,
    0x983e5152ee66dfab, 0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4,
    0xc6e00bf33da88fc2, 0xd5a79147930aa725, 0x06ca6351e003826f, 0x142929670a0e6e70,
    0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed, 0x53380d139d95b3df,
    0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30,
    0xd192e819d6ef5218, 0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8,
    0x19a4c116b8d2d0c8, 0x1e376c085141ab53, 0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8,
    0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373, 0x682e6ff3d6b2b8a3,
    0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b,
    0xca273eceea26619c, 0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178,
    0x06f067aa72176fba, 0x0a637dc5a2c898a6, 0x113f9804bef90dae, 0x1b710b35131c471b,
    0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc, 0x431d67c49c100d4c,
    0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
};

static const uint64_t initial[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

/* The message schedule of a block. Its owner wipes it. */
union schedule {
    uint32_t words32[64];
    uint64_t words64[80];
};

/* ---- blocks ---------------------------------------------------------------------------------- */

#define CHOOSE(x, y, z)   ((z) ^ ((x) & ((y) ^ (z))))
#define MAJORITY(x, y, z) (((x) & (y)) | ((z) & ((x) | (y))))

/* Section 6.2.2, with the functions of section 4.1.2. */
static void hash_block_32(uint32_t state[8], const uint8_t block[64], uint32_t w[64])
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (unsigned t = 0; t < 16; t++) {
        w[t] = LOAD32_BE(block + 4 * t);
    }
    for (unsigned t = 16; t < 64; t++) {
        uint32_t w2 = w[t - 2], w15 = w[t - 15];
        w[t] = (ROTR32(w2, 17) ^ ROTR32(w2, 19) ^ w2 >> 10) + w[t - 7] +
               (ROTR32(w15, 7) ^ ROTR32(w15, 18) ^ w15 >> 3) + w[t - 16];
    }
    for (unsigned t = 0; t < 64; t++) {
        uint32_t t1 = h + (ROTR32(e, 6) ^ ROTR32(e, 11) ^ ROTR32(e, 25)) + CHOOSE(e, f, g) +
                      (uint32_t)(constants[t] >> 32) + w[t];
        uint32_t t2 = (ROTR32(a, 2) ^ ROTR32(a, 13) ^ ROTR32(a, 22)) + MAJORITY(a, b, c);
        h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

/* Section 6.4.2, with the functions of section 4.1.3. */
static void hash_block_64(uint64_t state[8], const uint8_t block[128], uint64_t w[80])
{
    uint64_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint64_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (unsigned t = 0; t < 16; t++) {
        w[t] = LOAD64_BE(block + 8 * t);
    }
    for (unsigned t = 16; t < 80; t++) {
        uint64_t w2 = w[t - 2], w15 = w[t - 15];
        w[t] = (ROTR64(w2, 19) ^ ROTR64(w2, 61) ^ w2 >> 6) + w[t - 7] +
               (ROTR64(w15, 1) ^ ROTR64(w15, 8) ^ w15 >> 7) + w[t - 16];
    }
    for (unsigned t = 0; t < 80; t++) {
        uint64_t t1 = h + (ROTR64(e, 14) ^ ROTR64(e, 18) ^ ROTR64(e, 41)) + CHOOSE(e, f, g) +
                      constants[t] + w[t];
        uint64_t t2 = (ROTR64(a, 28) ^ ROTR64(a, 34) ^ ROTR64(a, 39)) + MAJORITY(a, b, c);
        h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

/* ---- messages -------------------------------------------------------------------------------- */

#define BLOCK_32  64
#define BLOCK_64  128
#define MOST_LEFT 128

/* `block_bytes` says which of the two. */
static void hash_block(void *state, const uint8_t *block, size_t block_bytes,
                       union schedule *schedule)
{
    if (block_bytes == BLOCK_32) {
        hash_block_32(state, block, schedule->words32);
    } else {
        hash_block_64(state, block, schedule->words64);
    }
}

/* The rest of the message before, `left`, has count % block_bytes bytes. */
static void update(void *state, uint64_t *count, uint8_t *left, size_t block_bytes,
                   const uint8_t *in, uint64_t bytes)
{
    union schedule schedule;
    while (bytes > 0) {
        size_t used = (size_t)(*count % block_bytes);
        size_t room = block_bytes - used;
        size_t part = bytes < room ? (size_t)bytes : room;
        memcpy(left + used, in, part);
        if (part == room) {
            hash_block(state, left, block_bytes, &schedule);
        }
        *count += part;
        in += part;
        bytes -= part;
    }
    sodium_memzero(&schedule, sizeof(schedule));
}

/* Section 5.1: a bit that is set, zeros, and the length in bits, in an eighth of a block. */
static void pad(void *state, uint64_t *count, uint8_t *left, size_t block_bytes)
{
    uint8_t padding[MOST_LEFT + 16] = {0x80};
    size_t length_bytes = block_bytes / 8;
    size_t used = (size_t)(*count % block_bytes);
    size_t bytes = 2 * block_bytes - length_bytes - used;
    bytes -= bytes > block_bytes ? block_bytes : 0;
    STORE64_BE(padding + bytes + length_bytes - 8, *count << 3);
    update(state, count, left, block_bytes, padding, bytes + length_bytes);
}

int crypto_hash_sha256_init(crypto_hash_sha256_state *state)
{
    state->count = 0;
    for (size_t i = 0; i < 8; i++) {
        state->state[i] = (uint32_t)(initial[i] >> 32);
    }
    return 0;
}

int crypto_hash_sha512_init(crypto_hash_sha512_state *state)
{
    state->count[0] = 0;
    memcpy(state->state, initial, sizeof(initial));
    return 0;
}

int crypto_hash_sha256_update(crypto_hash_sha256_state *state, const unsigned char *in,
                              unsigned long long bytes)
{
    update(state->state, &state->count, state->buf, BLOCK_32, in, bytes);
    return 0;
}

int crypto_hash_sha512_update(crypto_hash_sha512_state *state, const unsigned char *in,
                              unsigned long long bytes)
{
    update(state->state, &state->count[0], state->buf, BLOCK_64, in, bytes);
    return 0;
}

int crypto_hash_sha256_final(crypto_hash_sha256_state *state, unsigned char *out)
{
    pad(state->state, &state->count, state->buf, BLOCK_32);
    for (size_t i = 0; i < 8; i++) {
        STORE32_BE(out + 4 * i, state->state[i]);
    }
    sodium_memzero(state, sizeof(*state));
    return 0;
}

int crypto_hash_sha512_final(crypto_hash_sha512_state *state, unsigned char *out)
{
    pad(state->state, &state->count[0], state->buf, BLOCK_64);
    for (size_t i = 0; i < 8; i++) {
        STORE64_BE(out + 8 * i, state->state[i]);
    }
    sodium_memzero(state, sizeof(*state));
    return 0;
}

int crypto_hash_sha256(unsigned char *out, const unsigned char *in, unsigned long long bytes)
{
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, in, bytes);
    return crypto_hash_sha256_final(&state, out);
}

int crypto_hash_sha512(unsigned char *out, const unsigned char *in, unsigned long long bytes)
{
    crypto_hash_sha512_state state;
    crypto_hash_sha512_init(&state);
    crypto_hash_sha512_update(&state, in, bytes);
    return crypto_hash_sha512_final(&state, out);
}
