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
 * Three rows are rotated by 1, 2 and 3 words, which makes columns of the diagonals. The second row
 * stays, as a quarter round has it ready last and the next one needs it first.
 */
#define FOUR   4
#define LEFT_1 1, 2, 3, 0, 5, 6, 7, 4
#define LEFT_2 2, 3, 0, 1, 6, 7, 4, 5
#define LEFT_3 3, 0, 1, 2, 7, 4, 5, 6

static inline void make_columns_of_diagonals(lanes x[static 4])
{
    x[0] = pick(x[0], x[0], LEFT_3);
    x[2] = pick(x[2], x[2], LEFT_1);
    x[3] = pick(x[3], x[3], LEFT_2);
}

static inline void make_diagonals_of_columns(lanes x[static 4])
{
    x[0] = pick(x[0], x[0], LEFT_1);
    x[2] = pick(x[2], x[2], LEFT_3);
    x[3] = pick(x[3], x[3], LEFT_2);
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
        __m128i rows[2];
        memcpy(&rows[0], one + 4 * i, sizeof(rows[0]));
        memcpy(&rows[1], two + 4 * i, sizeof(rows[1]));
        x[i] = (lanes)_mm256_setr_m128i(rows[0], rows[1]);
    }
}

/* The last row begins with the counter, which one addition of 64 bits takes on. */
static inline void count_rows_on(lanes x[static 4], uint64_t one, uint64_t two)
{
    x[3] = (lanes)_mm256_add_epi64((__m256i)x[3],
                                   _mm256_setr_epi64x((long long)one, 0, (long long)two, 0));
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
    lanes x[4], y[4], start[2][4];
    load_rows(start[0], first, state);
    load_rows(start[1], state, state);
    count_rows_on(start[0], 0, 1);
    count_rows_on(start[1], 2, 3);
    for (; strides > 0; strides--) {
        READ_ANEW(start);
        for (int i = 0; i < 4; i++) {
            x[i] = start[0][i];
            y[i] = start[1][i];
        }
        permute_rows(x, y);
        READ_ANEW(start);
        for (int i = 0; i < 4; i++) {
            x[i] += start[0][i];
            y[i] += start[1][i];
        }
        xor_rows(out, in, x);
        xor_rows(out + 2 * CHACHA20_BLOCK_BYTES, in + 2 * CHACHA20_BLOCK_BYTES, y);
        count_rows_on(start[0], FOUR, FOUR);
        count_rows_on(start[1], FOUR, FOUR);
        out += FOUR * CHACHA20_BLOCK_BYTES;
        in += FOUR * CHACHA20_BLOCK_BYTES;
    }
    write_zeros(start, sizeof(start));
}
