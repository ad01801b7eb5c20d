/* Each kernel that this processor has, against plain sums and against qsort(). */
#include "sntrup761_kernel.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "levels.h"
#include "random.h"
#include "unit.h"

#define ROWS   SNTRUP761_ROWS
#define TERMS  SNTRUP761_TERMS
#define WINDOW SNTRUP761_WINDOW
#define Q      SNTRUP761_Q
#define Q_HALF ((Q - 1) / 2)

/* What a reduction can leave, at most and at least. */
#define HIGHEST 7065
#define LOWEST  (-2970)

static const struct sntrup761_kernel *kernels[LEVELS];
static int kernel_count;

static void find_kernels(void)
{
    levels_tell();
    for (int i = 0; i < LEVELS; i++) {
        level_set(i);
        const struct sntrup761_kernel *kernel = sntrup761_best_kernel();
        if (kernel_count == 0 || kernel != kernels[kernel_count - 1]) {
            kernels[kernel_count++] = kernel;
        }
    }
}

/* ---- sorting --------------------------------------------------------------------------------- */

static int compare_words(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

/* `words` stands between two guards. */
static void sorts_to(const struct sntrup761_kernel *kernel, const int32_t words[static ROWS],
                     const int32_t expected[static ROWS])
{
    int32_t sorted[ROWS + 2];
    sorted[0] = INT32_MAX;
    memcpy(sorted + 1, words, ROWS * sizeof(*words));
    sorted[ROWS + 1] = INT32_MIN;
    kernel->sort(sorted + 1);
    ck_assert_mem_eq(sorted + 1, expected, ROWS * sizeof(*expected));
    ck_assert(sorted[0] == INT32_MAX && sorted[ROWS + 1] == INT32_MIN);
}

static void sorts_as_qsort(const struct sntrup761_kernel *kernel, const int32_t words[static ROWS])
{
    int32_t expected[ROWS];
    memcpy(expected, words, sizeof(expected));
    qsort(expected, ROWS, sizeof(*expected), compare_words);
    sorts_to(kernel, words, expected);
}

static void sorts_ones(const struct sntrup761_kernel *kernel, const int32_t words[static ROWS])
{
    int32_t expected[ROWS] = {0};
    size_t zeros = ROWS;
    for (size_t i = 0; i < ROWS; i++) {
        zeros -= words[i] != 0;
    }
    for (size_t i = zeros; i < ROWS; i++) {
        expected[i] = 1;
    }
    sorts_to(kernel, words, expected);
}

static int random_rounds(void)
{
    return unit_is_slow() ? 100 : 500;
}

UNIT_BEFORE(find_kernels());
UNIT_TIMEOUT(120);

TEST_EACH(random_words_as_qsort, kernel_count)
{
    int32_t words[ROWS];
    for (int round = random_rounds(); round > 0; round--) {
        random_fill(words, sizeof(words));
        sorts_as_qsort(kernels[_i], words);
    }
}

TEST_EACH(few_different_words_as_qsort, kernel_count)
{
    static const int32_t extremes[] = {0, 1, 2, -1, INT32_MAX, INT32_MIN, INT32_MIN + 1};
    int32_t words[ROWS];
    uint8_t random[ROWS];
    for (int round = random_rounds(); round > 0; round--) {
        random_fill(random, sizeof(random));
        for (size_t i = 0; i < ROWS; i++) {
            words[i] = extremes[random[i] % (sizeof(extremes) / sizeof(extremes[0]))];
        }
        sorts_as_qsort(kernels[_i], words);
    }
}

/* A network that sorts all inputs of zeros and ones sorts everything (D. E. Knuth, The Art of
 * Computer Programming, section 5.3.4, theorem Z): here those with all their ones in one place, and
 * for each number of ones some at random. */
TEST_EACH(zeros_and_ones, kernel_count)
{
    int32_t words[ROWS];
    uint32_t random[ROWS];
    for (size_t ones = 0; ones <= ROWS; ones++) {
        for (size_t first = 0; first <= ROWS - ones; first += 61) {
            for (size_t i = 0; i < ROWS; i++) {
                words[i] = i >= first && i < first + ones;
            }
            sorts_ones(kernels[_i], words);
        }
        random_fill(random, sizeof(random));
        for (size_t i = 0; i < ROWS; i++) {
            words[i] = random[i] % ROWS < ones;
        }
        sorts_ones(kernels[_i], words);
    }
}

/* ---- multiplying ----------------------------------------------------------------------------- */

static void multiplies(const struct sntrup761_kernel *kernel, const int16_t window[static WINDOW],
                       const int16_t r[static TERMS])
{
    int16_t product[ROWS + 1];
    size_t wrong = 0; /* one assertion a product: each writes to a file */
    product[ROWS] = 12345;
    kernel->multiply(product, window, r);
    for (size_t i = 0; i < ROWS; i++) {
        int32_t sum = 0;
        for (size_t j = 0; j < TERMS; j++) {
            sum += r[j] * window[i + j];
        }
        wrong += (sum - product[i]) % Q != 0 || product[i] < LOWEST || product[i] > HIGHEST;
    }
    ck_assert_uint_eq(wrong, 0);
    ck_assert_int_eq(product[ROWS], 12345);
}

static void fill(int16_t *values, size_t count, int16_t value)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = value;
    }
}

static void make_random(int16_t *values, size_t count, int16_t largest)
{
    uint32_t random[WINDOW];
    ck_assert_uint_le(count, WINDOW);
    random_fill(random, sizeof(random));
    for (size_t i = 0; i < count; i++) {
        values[i] = (int16_t)((int)(random[i] % (2 * (uint32_t)largest + 1)) - largest);
    }
}

TEST_EACH(random_factors, kernel_count)
{
    int16_t window[WINDOW], r[TERMS];
    int rounds = unit_is_slow() ? 20 : 100;
    for (int round = 0; round < rounds; round++) {
        make_random(window, WINDOW, Q_HALF);
        make_random(r, TERMS, 1);
        multiplies(kernels[_i], window, r);
    }
}

TEST_EACH(extreme_factors, kernel_count)
{
    static const int16_t extremes[] = {-Q_HALF, Q_HALF};
    int16_t window[WINDOW], r[TERMS];
    for (int which = 0; which < 8; which++) {
        fill(window, WINDOW, extremes[which & 1]);
        fill(r, TERMS, which & 2 ? 1 : -1);
        multiplies(kernels[_i], window, r);
        /* Signs in all phases: each product of every second row is the largest. */
        for (size_t i = 0; which & 4 && i < WINDOW; i += 2) {
            window[i] = (int16_t)-window[i];
        }
        for (size_t j = 0; which & 4 && j < TERMS; j += 2) {
            r[j] = (int16_t)-r[j];
        }
        multiplies(kernels[_i], window, r);
    }
}

/* 286 coefficients at either end, and one alone. */
TEST_EACH(weight_at_the_ends, kernel_count)
{
    int16_t window[WINDOW], r[TERMS];
    for (int sign = -1; sign <= 1; sign += 2) {
        make_random(window, WINDOW, Q_HALF);
        fill(r, TERMS, 0);
        fill(r, 286, (int16_t)sign);
        multiplies(kernels[_i], window, r);
        fill(r, TERMS, 0);
        fill(r + SNTRUP761_P - 286, 286, (int16_t)sign);
        multiplies(kernels[_i], window, r);
        for (size_t j = 0; j < TERMS; j += 11) {
            fill(r, TERMS, 0);
            r[j] = (int16_t)sign;
            multiplies(kernels[_i], window, r);
        }
    }
}

/*
 * Sums of the products between reductions that take a lane of 16 bits to where it is nearest to
 * overflowing: to the lowest that is left, to the highest, and from there as far as products go.
 */
#define PRODUCTS 8
static const int to_the_top[] = {
    -4 * 4096 - 1,          /* leaves 4095 + 5 * 495 */
    6 * 4096 - 6570,        /* leaves LOWEST */
    -5 * 4096 - 1 - LOWEST, /* leaves HIGHEST */
    PRODUCTS *Q_HALF,
};
static const int to_the_bottom[] = {-4 * 4096 - 1, 6 * 4096 - 6570, -PRODUCTS *Q_HALF};

/* Which coefficient of r is the n-th that is multiplied: two at once, a vector apart, and a
 * reduction after each four such pairs. */
static size_t nth(size_t n, size_t lanes)
{
    size_t block = n / (2 * lanes) * 2 * lanes, within = n - block;
    return block + within / 2 + (within & 1) * lanes;
}

static void push(int16_t *window, int16_t *r, size_t lanes, size_t first, const int *sums,
                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int rest = sums[i];
        for (int left = PRODUCTS; left > 0; left--) {
            size_t j = nth(first++, lanes);
            window[j] = (int16_t)(rest / left);
            rest -= window[j];
            r[j] = 1;
        }
    }
}

TEST_EACH(sums_at_their_limits, kernel_count)
{
    int16_t window[WINDOW], r[TERMS];
    for (size_t row = 0; row < ROWS; row += 23) { /* each lane has its turn */
        for (size_t lanes = 8; lanes <= 32; lanes *= 2) {
            size_t first = row % (TERMS / PRODUCTS - 4) * PRODUCTS;
            make_random(window, WINDOW, Q_HALF);
            fill(r, TERMS, 0);
            push(window + row, r, lanes, first, to_the_top, 4);
            multiplies(kernels[_i], window, r);
            fill(r, TERMS, 0);
            push(window + row, r, lanes, first, to_the_bottom, 3);
            multiplies(kernels[_i], window, r);
        }
    }
}
