/*
 * sntrup761, on every kernel that this processor has: sorting beside qsort(3), products beside
 * plain sums, and a secret must come out of its ciphertext again by the tests' own client half.
 *
 * Input: a byte that chooses the part, then words to sort, two polynomials, or a seed.
 */
#include "sntrup761.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "levels.h"
#include "second.h"
#include "sntrup761_kernel.h"
#include "sntrup761_key.h"

static int compare_words(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

static void check_sort(struct input input)
{
    int32_t words[SNTRUP761_ROWS], expected[SNTRUP761_ROWS], sorted[SNTRUP761_ROWS];
    for (size_t i = 0; i < SNTRUP761_ROWS; i++) {
        words[i] = (int32_t)input_u32(&input);
    }
    memcpy(expected, words, sizeof(words));
    qsort(expected, SNTRUP761_ROWS, sizeof(words[0]), compare_words);
    for (int i = 0; i < LEVELS; i++) {
        if (level_set(i)) {
            memcpy(sorted, words, sizeof(words));
            sntrup761_best_kernel()->sort(sorted);
            FUZZ_CHECK(memcmp(sorted, expected, sizeof(sorted)) == 0);
        }
    }
}

static void check_multiply(struct input input)
{
    int16_t window[SNTRUP761_WINDOW], r[SNTRUP761_TERMS], product[SNTRUP761_ROWS];
    static int32_t expected[SNTRUP761_ROWS];
    for (size_t i = 0; i < SNTRUP761_TERMS; i++) {
        r[i] = (int16_t)(input_u8(&input) % 3 - 1);
    }
    for (size_t i = 0; i < SNTRUP761_WINDOW; i++) {
        uint16_t drawn = (uint16_t)(input_u8(&input) << 8);
        drawn = (uint16_t)(drawn | input_u8(&input));
        window[i] = (int16_t)(drawn % SNTRUP761_Q - (SNTRUP761_Q - 1) / 2);
    }
    for (size_t i = 0; i < SNTRUP761_ROWS; i++) {
        expected[i] = 0;
        for (size_t j = 0; j < SNTRUP761_TERMS; j++) {
            expected[i] += r[j] * window[i + j];
        }
    }
    for (int i = 0; i < LEVELS; i++) {
        if (!level_set(i)) {
            continue;
        }
        sntrup761_best_kernel()->multiply(product, window, r);
        for (size_t row = 0; row < SNTRUP761_ROWS; row++) {
            FUZZ_CHECK((product[row] - expected[row]) % SNTRUP761_Q == 0);
            FUZZ_CHECK(product[row] >= -2970 && product[row] <= 7065);
        }
    }
}

/* The same bytes in every run, for the client's key. */
static uint32_t same_random(void)
{
    static uint32_t state = 1;
    state = state * 1664525U + 1013904223U;
    return state >> 16 | state << 16;
}

static void fill_same_random(void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ((uint8_t *)bytes)[i] = (uint8_t)same_random();
    }
}

static const char *same_name(void)
{
    return "same";
}

static const struct sntrup761_key *client_key(void)
{
    static struct randombytes_implementation same = {
        .implementation_name = same_name, .random = same_random, .buf = fill_same_random};
    static struct sntrup761_key key;
    static bool made;
    if (!made) {
        randombytes_set_implementation(&same);
        sntrup761_key_make(&key);
        made = true;
    }
    return &key;
}

static void check_encapsulation(struct input input, bool any_key)
{
    uint8_t seed[SNTRUP761_SEED_BYTES], random[SNTRUP761_RANDOM_BYTES];
    uint8_t public_key[SNTRUP761_PUBLIC_KEY_BYTES];
    uint8_t ciphertext[2][SNTRUP761_CIPHERTEXT_BYTES], secret[2][SNTRUP761_SECRET_BYTES];
    uint8_t again[SNTRUP761_SECRET_BYTES];
    const struct sntrup761_key *key = client_key();
    second_bytes(&input, seed, sizeof(seed));
    memcpy(public_key, key->public_key, sizeof(public_key));
    if (any_key) {
        second_bytes(&input, public_key, sizeof(public_key));
    }
    for (int i = 0; i < LEVELS; i++) {
        if (level_set(i)) {
            sntrup761_random(random, seed);
            sntrup761_encapsulate(ciphertext[i > 0], secret[i > 0], public_key, random);
            FUZZ_CHECK(memcmp(ciphertext[i > 0], ciphertext[0], sizeof(ciphertext[0])) == 0);
            FUZZ_CHECK(memcmp(secret[i > 0], secret[0], sizeof(secret[0])) == 0);
        }
    }
    if (!any_key) {
        uint32_t bit = input_u32(&input) % (8 * sizeof(ciphertext[0]));
        FUZZ_CHECK(sntrup761_key_decapsulate(again, key, ciphertext[0]));
        FUZZ_CHECK(memcmp(again, secret[0], sizeof(again)) == 0);
        ciphertext[0][bit / 8] ^= (uint8_t)(1U << bit % 8);
        FUZZ_CHECK(!sntrup761_key_decapsulate(again, key, ciphertext[0]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    uint8_t part = input_u8(&input) % 4;
    FUZZ_CHECK(sodium_init() >= 0);
    if (part == 0) {
        check_sort(input);
    } else if (part == 1) {
        check_multiply(input);
    } else {
        check_encapsulation(input, part == 3);
    }
    cpu_limit(CPU_AVX512IFMA);
    return 0;
}
