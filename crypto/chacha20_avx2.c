/* A rotation by whole bytes is a shuffle of the bytes within a word. */
#include <immintrin.h>

#define LANES  8
#define KERNEL chacha20_avx2

/* Byte i of `word` has the position from which byte i of each word comes. */
#define move_bytes(vector, word)                                                                   \
    (lanes) _mm256_shuffle_epi8(                                                                   \
        (__m256i)(vector),                                                                         \
        _mm256_add_epi32(_mm256_set1_epi32(word),                                                  \
                         _mm256_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c, 0, 0x04040404,   \
                                           0x08080808, 0x0c0c0c0c)))
#define rotate_16(vector) move_bytes(vector, 0x01000302)
#define rotate_8(vector)  move_bytes(vector, 0x02010003)
#include "chacha20_lanes.h"

/*
 * Four blocks at once, for short inputs: it makes less than the kernel with eight lanes, in less
 * time. A vector has one row (four words) of two blocks, and there are two such pairs of blocks.
 * The rows are rotated by 1, 2 and 3 words, which makes columns of the diagonals.
 */
#define FOUR   4
#define LEFT_1 1, 2, 3, 0, 5, 6, 7, 4
#define LEFT_2 2, 3, 0, 1, 6, 7, 4, 5
#define LEFT_3 3, 0, 1, 2, 7, 4, 5, 6

static inline void make_columns_of_diagonals(lanes x[static 4])
{
    x[1] = pick(x[1], x[1], LEFT_1);
    x[2] = pick(x[2], x[2], LEFT_2);
    x[3] = pick(x[3], x[3], LEFT_3);
}

static inline void make_diagonals_of_columns(lanes x[static 4])
{
    x[1] = pick(x[1], x[1], LEFT_3);
    x[2] = pick(x[2], x[2], LEFT_2);
    x[3] = pick(x[3], x[3], LEFT_1);
}

static inline void permute_rows(lanes x[static 4], lanes y[static 4])
{
    for (int double_round = 0; double_round < 10; double_round++) {
        quarter_rounds(&x[0], &x[1], &x[2], &x[3], &y[0], &y[1], &y[2], &y[3]);
        make_columns_of_diagonals(x);
        make_columns_of_diagonals(y);
        quarter_rounds(&x[0], &x[1], &x[2], &x[3], &y[0], &y[1], &y[2], &y[3]);
        make_diagonals_of_columns(x);
        make_diagonals_of_columns(y);
    }
}

/* The four rows of two blocks: each vector has one row of both. */
static inline void load_rows(lanes x[static 4], const uint32_t one[static CHACHA20_STATE_WORDS],
                             const uint32_t two[static CHACHA20_STATE_WORDS])
{
    for (int i = 0; i < 4; i++) {
        memcpy(&x[i], one + 4 * i, VECTOR_BYTES / 2);
        memcpy((uint8_t *)&x[i] + VECTOR_BYTES / 2, two + 4 * i, VECTOR_BYTES / 2);
    }
}

static inline void xor_rows(uint8_t *out, const uint8_t *in, const lanes x[static 4])
{
    lanes block[4] = {x[0], x[1], x[2], x[3]};
    transpose_units(block);
    for (int i = 0; i < 4; i++) {
        xor_vector(out + VECTOR_BYTES * i, in + VECTOR_BYTES * i, block[i]);
    }
}

void chacha20_avx2_four(uint8_t *out, const uint8_t *in, size_t strides,
                        const uint32_t state[static CHACHA20_STATE_WORDS],
                        const uint32_t first[static CHACHA20_STATE_WORDS])
{
    uint64_t counter = state[CHACHA20_COUNTER] | (uint64_t)state[CHACHA20_COUNTER + 1] << 32;
    uint32_t block[FOUR][CHACHA20_STATE_WORDS];
    lanes x[4], y[4], start_x[4], start_y[4];
    for (; strides > 0; strides--) {
        for (int i = 0; i < FOUR; i++) {
            memcpy(block[i], state, sizeof(block[i]));
            block[i][CHACHA20_COUNTER] = (uint32_t)(counter + (uint64_t)i);
            block[i][CHACHA20_COUNTER + 1] = (uint32_t)((counter + (uint64_t)i) >> 32);
        }
        if (first != state) {
            memcpy(block[0], first, sizeof(block[0]));
        }
        load_rows(start_x, block[0], block[1]);
        load_rows(start_y, block[2], block[3]);
        READ_ANEW(start_x);
        READ_ANEW(start_y);
        for (int i = 0; i < 4; i++) {
            x[i] = start_x[i];
            y[i] = start_y[i];
        }
        permute_rows(x, y);
        READ_ANEW(start_x);
        READ_ANEW(start_y);
        for (int i = 0; i < 4; i++) {
            x[i] += start_x[i];
            y[i] += start_y[i];
        }
        xor_rows(out, in, x);
        xor_rows(out + 2 * CHACHA20_BLOCK_BYTES, in + 2 * CHACHA20_BLOCK_BYTES, y);
        counter += FOUR;
        out += FOUR * CHACHA20_BLOCK_BYTES;
        in += FOUR * CHACHA20_BLOCK_BYTES;
    }
    sodium_memzero(block, sizeof(block));
    sodium_memzero(start_x, sizeof(start_x));
    sodium_memzero(start_y, sizeof(start_y));
}
