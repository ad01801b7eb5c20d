/* A rotation by whole bytes is a shuffle of the bytes within a word. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define LANES  8
#define KERNEL chacha20_avx2

/* As in chacha20_lanes.h, whose rotations need it. */
typedef uint32_t lanes __attribute__((vector_size(4 * LANES)));

/* Byte i of `word` has the position from which byte i of each word comes. */
#define move_bytes(vector, word)                                                                   \
    (lanes) _mm256_shuffle_epi8(                                                                   \
        (__m256i)(vector),                                                                         \
        _mm256_add_epi32(_mm256_set1_epi32(word),                                                  \
                         _mm256_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c, 0, 0x04040404,   \
                                           0x08080808, 0x0c0c0c0c)))
#define BY_16 0x01000302
#define BY_8  0x02010003

/* Makes the compiler have this vector in a register here. Otherwise it mixes the steps of a round
 * so that more vectors wait than there are registers. Chosen by measuring 32 KiB: GCC 12 needs a
 * tenth less time with all rotations settled. Clang 14 needs a thirtieth less with those by shifts,
 * and more with the others. */
static inline lanes settle(lanes vector)
{
    __asm__("" : "+x"(vector));
    return vector;
}
#ifdef __clang__
#define settle_bytes(vector) (vector)
#else
#define settle_bytes(vector) settle(vector)
#endif

#define rotate_16(vector) settle_bytes(move_bytes(vector, BY_16))
#define rotate_12(vector) settle(rotate(vector, 12))
#define rotate_8(vector)  settle_bytes(move_bytes(vector, BY_8))
#define rotate_7(vector)  settle(rotate(vector, 7))
#include "chacha20_lanes.h"

/*
 * Four or six blocks at once, for short inputs: it makes less than the kernel with eight lanes, in
 * less time. A vector has one row (four words) of two blocks, and there are two or three such pairs
 * of blocks. Three rows are rotated by 1, 2 and 3 words, which makes columns of the diagonals. The
 * second row stays, as a quarter round has it ready last and the next one needs it first.
 */
#define MOST_PAIRS 3
#define PAIR_BYTES (2 * CHACHA20_BLOCK_BYTES)
#define LEFT_1     1, 2, 3, 0, 5, 6, 7, 4
#define LEFT_2     2, 3, 0, 1, 6, 7, 4, 5
#define LEFT_3     3, 0, 1, 2, 7, 4, 5, 6

typedef lanes rows[4]; /* of a pair of blocks */

static inline void quarter_round_of_rows(rows x)
{
    x[0] += x[1];
    x[3] = move_bytes(x[3] ^ x[0], BY_16);
    x[2] += x[3];
    x[1] = rotate(x[1] ^ x[2], 12);
    x[0] += x[1];
    x[3] = move_bytes(x[3] ^ x[0], BY_8);
    x[2] += x[3];
    x[1] = rotate(x[1] ^ x[2], 7);
}

static inline void make_columns_of_diagonals(rows x)
{
    x[0] = pick(x[0], x[0], LEFT_3);
    x[2] = pick(x[2], x[2], LEFT_1);
    x[3] = pick(x[3], x[3], LEFT_2);
}

static inline void make_diagonals_of_columns(rows x)
{
    x[0] = pick(x[0], x[0], LEFT_1);
    x[2] = pick(x[2], x[2], LEFT_3);
    x[3] = pick(x[3], x[3], LEFT_2);
}

/* The pairs do not depend on each other: the processor takes one on while it waits for another. */
static inline void permute_rows(rows *x, int pairs)
{
    for (int double_round = 0; double_round < 10; double_round++) {
        for (int i = 0; i < pairs; i++) {
            quarter_round_of_rows(x[i]);
            make_columns_of_diagonals(x[i]);
        }
        for (int i = 0; i < pairs; i++) {
            quarter_round_of_rows(x[i]);
            make_diagonals_of_columns(x[i]);
        }
    }
}

/* The four rows of two blocks: each vector has one row of both. */
static inline void load_rows(rows x, const uint32_t one[static CHACHA20_STATE_WORDS],
                             const uint32_t two[static CHACHA20_STATE_WORDS])
{
    for (int i = 0; i < 4; i++) {
        __m128i row[2];
        memcpy(&row[0], one + 4 * i, sizeof(row[0]));
        memcpy(&row[1], two + 4 * i, sizeof(row[1]));
        x[i] = (lanes)_mm256_setr_m128i(row[0], row[1]);
    }
}

/* The last row begins with the counter, which one addition of 64 bits takes on. */
static inline void count_rows_on(rows x, int one, int two)
{
    x[3] = (lanes)_mm256_add_epi64((__m256i)x[3], _mm256_setr_epi64x(one, 0, two, 0));
}

static inline void xor_rows(uint8_t *out, const uint8_t *in, rows x)
{
    transpose_units(x);
    for (int i = 0; i < 4; i++) {
        xor_vector(out + VECTOR_BYTES * i, in + VECTOR_BYTES * i, x[i]);
    }
}

/* In each kernel a copy of its own, with a constant number of pairs: only then registers have all
 * rows. */
static inline __attribute__((always_inline)) void take_rows(
    uint8_t *out, const uint8_t *in, size_t strides,
    const uint32_t state[static CHACHA20_STATE_WORDS],
    const uint32_t first[static CHACHA20_STATE_WORDS], int pairs)
{
    rows x[MOST_PAIRS], start[MOST_PAIRS];
    for (int i = 0; i < pairs; i++) {
        load_rows(start[i], i == 0 ? first : state, state);
        count_rows_on(start[i], 2 * i, 2 * i + 1);
    }
    for (; strides > 0; strides--) {
        READ_ANEW(start);
        for (int i = 0; i < pairs; i++) {
            for (int row = 0; row < 4; row++) {
                x[i][row] = start[i][row];
            }
        }
        permute_rows(x, pairs);
        READ_ANEW(start);
        for (int i = 0; i < pairs; i++) {
            for (int row = 0; row < 4; row++) {
                x[i][row] += start[i][row];
            }
            xor_rows(out, in, x[i]);
            count_rows_on(start[i], 2 * pairs, 2 * pairs);
            out += PAIR_BYTES;
            in += PAIR_BYTES;
        }
    }
    write_zeros(start, (size_t)pairs * sizeof(rows));
}

void chacha20_avx2_four(uint8_t *out, const uint8_t *in, size_t strides,
                        const uint32_t state[static CHACHA20_STATE_WORDS],
                        const uint32_t first[static CHACHA20_STATE_WORDS])
{
    take_rows(out, in, strides, state, first, 2);
}

void chacha20_avx2_six(uint8_t *out, const uint8_t *in, size_t strides,
                       const uint32_t state[static CHACHA20_STATE_WORDS],
                       const uint32_t first[static CHACHA20_STATE_WORDS])
{
    take_rows(out, in, strides, state, first, 3);
}

/* One block, in the lower half of a pair. */
void chacha20_avx2_one(uint8_t *out, const uint8_t *in, size_t strides,
                       const uint32_t state[static CHACHA20_STATE_WORDS],
                       const uint32_t first[static CHACHA20_STATE_WORDS])
{
    rows x[1], start;
    (void)state; /* a stride has one block, and that is `first` */
    load_rows(start, first, first);
    for (; strides > 0; strides--) {
        READ_ANEW(start);
        memcpy(x[0], start, sizeof(start));
        permute_rows(x, 1);
        READ_ANEW(start);
        for (int row = 0; row < 4; row++) {
            __m128i bytes;
            x[0][row] += start[row];
            memcpy(&bytes, in, sizeof(bytes));
            bytes ^= _mm256_castsi256_si128((__m256i)x[0][row]);
            memcpy(out, &bytes, sizeof(bytes));
            out += sizeof(bytes);
            in += sizeof(bytes);
        }
        count_rows_on(start, 1, 1);
    }
    write_zeros(start, sizeof(start));
}
