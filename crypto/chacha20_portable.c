/* One block at a time, without vectors: for processors that have none, and as the reference for the
 * tests of the other kernels. */
#include <endian.h>
#include <sodium.h>
#include <string.h>

#include "chacha20_kernels.h"

typedef uint32_t lanes;

static inline uint32_t rotate(uint32_t word, int bits)
{
    return word << bits | word >> (32 - bits);
}

#define rotate_16(word) rotate(word, 16)
#define rotate_12(word) rotate(word, 12)
#define rotate_8(word)  rotate(word, 8)
#define rotate_7(word)  rotate(word, 7)
#include "chacha20_rounds.h"

static inline void xor_word(uint8_t *out, const uint8_t *in, uint32_t keystream)
{
    uint32_t bytes;
    memcpy(&bytes, in, sizeof(bytes));
    bytes ^= htole32(keystream);
    memcpy(out, &bytes, sizeof(bytes));
}

void chacha20_portable(uint8_t *out, const uint8_t *in, size_t strides,
                       const uint32_t state[static CHACHA20_STATE_WORDS],
                       const uint32_t first[static CHACHA20_STATE_WORDS])
{
    uint32_t start[CHACHA20_STATE_WORDS], x[CHACHA20_STATE_WORDS];
    (void)state; /* a stride has one block, and that is `first` */
    memcpy(start, first, sizeof(start));
    for (; strides > 0; strides--) {
        READ_ANEW(start);
        memcpy(x, start, sizeof(x));
        permute(x);
        READ_ANEW(start);
        for (int i = 0; i < CHACHA20_STATE_WORDS; i++) {
            x[i] += start[i];
            xor_word(out + 4 * i, in + 4 * i, x[i]);
        }
        start[CHACHA20_COUNTER]++;
        start[CHACHA20_COUNTER + 1] += start[CHACHA20_COUNTER] == 0;
        out += CHACHA20_BLOCK_BYTES;
        in += CHACHA20_BLOCK_BYTES;
    }
    sodium_memzero(start, sizeof(start));
    sodium_memzero(x, sizeof(x));
}
