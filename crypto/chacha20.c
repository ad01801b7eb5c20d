#include "chacha20.h"

#include <endian.h>
#include <sodium.h>
#include <string.h>

#define BLOCK_BYTES  64
#define STATE_WORDS  16
#define LANES        4
#define STRIDE_BYTES (LANES * BLOCK_BYTES)

/* One word of LANES consecutive blocks: lane l belongs to block counter + l. */
typedef uint32_t lanes __attribute__((vector_size(4 * LANES)));

struct keystream {
    lanes state[STATE_WORDS];
    lanes block[STATE_WORDS];
};

static uint32_t read_word(const uint8_t bytes[static 4])
{
    uint32_t word;
    memcpy(&word, bytes, sizeof(word));
    return le32toh(word);
}

static lanes spread(uint32_t word)
{
    return (lanes){word, word, word, word};
}

/* Words 0-3 are "expand 32-byte k", 4-11 the key, 12-13 the counter, 14-15 the nonce. */
static void start(struct keystream *stream, const uint8_t key[static 32],
                  const uint8_t nonce[static 8])
{
    static const uint8_t constant[] = "expand 32-byte k";
    for (size_t i = 0; i < 4; i++) {
        stream->state[i] = spread(read_word(constant + 4 * i));
    }
    for (size_t i = 0; i < 8; i++) {
        stream->state[4 + i] = spread(read_word(key + 4 * i));
    }
    stream->state[14] = spread(read_word(nonce));
    stream->state[15] = spread(read_word(nonce + 4));
}

static void set_counter(lanes state[static STATE_WORDS], uint64_t counter)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        state[12][lane] = (uint32_t)(counter + lane);
        state[13][lane] = (uint32_t)((counter + lane) >> 32);
    }
}

static inline lanes rotate(lanes word, int bits)
{
    return word << bits | word >> (32 - bits);
}

static inline void quarter_round(lanes *a, lanes *b, lanes *c, lanes *d)
{
    *a += *b;
    *d = rotate(*d ^ *a, 16);
    *c += *d;
    *b = rotate(*b ^ *c, 12);
    *a += *b;
    *d = rotate(*d ^ *a, 8);
    *c += *d;
    *b = rotate(*b ^ *c, 7);
}

static void make_blocks(struct keystream *stream)
{
    lanes x[STATE_WORDS];
    memcpy(x, stream->state, sizeof(x));
    for (int double_round = 0; double_round < 10; double_round++) {
        quarter_round(&x[0], &x[4], &x[8], &x[12]);
        quarter_round(&x[1], &x[5], &x[9], &x[13]);
        quarter_round(&x[2], &x[6], &x[10], &x[14]);
        quarter_round(&x[3], &x[7], &x[11], &x[15]);
        quarter_round(&x[0], &x[5], &x[10], &x[15]);
        quarter_round(&x[1], &x[6], &x[11], &x[12]);
        quarter_round(&x[2], &x[7], &x[8], &x[13]);
        quarter_round(&x[3], &x[4], &x[9], &x[14]);
    }
    for (int i = 0; i < STATE_WORDS; i++) {
        stream->block[i] = x[i] + stream->state[i];
    }
}

static void xor_stride(uint8_t *out, const uint8_t *in, const lanes block[static STATE_WORDS])
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        for (unsigned i = 0; i < STATE_WORDS; i++) {
            size_t at = lane * BLOCK_BYTES + 4 * i;
            uint32_t word = htole32(read_word(in + at) ^ block[i][lane]);
            memcpy(out + at, &word, sizeof(word));
        }
    }
}

static void xor_rest(uint8_t *out, const uint8_t *in, size_t count,
                     const lanes block[static STATE_WORDS])
{
    for (size_t at = 0; at < count; at++) {
        uint32_t word = block[at % BLOCK_BYTES / 4][at / BLOCK_BYTES];
        out[at] = (uint8_t)(in[at] ^ word >> (8 * (at % 4)));
    }
}

void chacha20_xor(uint8_t *out, const uint8_t *in, size_t count, const uint8_t key[static 32],
                  const uint8_t nonce[static 8], uint64_t counter)
{
    struct keystream stream;
    start(&stream, key, nonce);
    while (count > 0) {
        set_counter(stream.state, counter);
        make_blocks(&stream);
        if (count < STRIDE_BYTES) {
            xor_rest(out, in, count, stream.block);
            break;
        }
        xor_stride(out, in, stream.block);
        out += STRIDE_BYTES;
        in += STRIDE_BYTES;
        count -= STRIDE_BYTES;
        counter += LANES;
    }
    sodium_memzero(&stream, sizeof(stream));
}
