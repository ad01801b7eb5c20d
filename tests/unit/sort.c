#include "sort.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define ROOM 1100

static int compare_words(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* `words` stands between two guards. */
static void sorts(const uint32_t *words, size_t count)
{
    uint32_t sorted[ROOM + 2], expected[ROOM + 2];
    sorted[0] = UINT32_MAX;
    memcpy(sorted + 1, words, count * sizeof(*words));
    sorted[count + 1] = 0;
    memcpy(expected, sorted, sizeof(*words) * (count + 2));
    qsort(expected + 1, count, sizeof(*expected), compare_words);
    sort_uint32(sorted + 1, count);
    ck_assert_mem_eq(sorted, expected, sizeof(*words) * (count + 2));
}

START_TEST(random_words_as_qsort)
{
    uint32_t words[ROOM];
    for (size_t count = 0; count <= ROOM; count++) {
        randombytes_buf(words, sizeof(words));
        sorts(words, count);
    }
}
END_TEST

START_TEST(few_different_words_as_qsort)
{
    static const uint32_t extremes[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0x80000001, UINT32_MAX};
    uint32_t words[761];
    for (int round = 0; round < 500; round++) {
        for (size_t i = 0; i < 761; i++) {
            words[i] = extremes[randombytes_uniform(sizeof(extremes) / sizeof(extremes[0]))];
        }
        sorts(words, 761);
    }
}
END_TEST

/* A network that sorts all inputs of zeros and ones sorts everything (D. E. Knuth, The Art of
 * Computer Programming, section 5.3.4, theorem Z). */
START_TEST(zeros_and_ones)
{
    uint32_t words[16];
    for (size_t count = 0; count <= 16; count++) {
        bool sorted = true; /* one assertion a size: each writes to a file */
        for (uint32_t bits = 0; bits < (uint32_t)1 << count; bits++) {
            for (size_t i = 0; i < count; i++) {
                words[i] = bits >> i & 1;
            }
            sort_uint32(words, count);
            for (size_t i = 1; i < count; i++) {
                sorted = sorted && words[i - 1] <= words[i];
            }
        }
        ck_assert_msg(sorted, "%zu words", count);
    }
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("sort");
    TCase *tests = tcase_create("sort");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, random_words_as_qsort);
    tcase_add_test(tests, few_different_words_as_qsort);
    tcase_add_test(tests, zeros_and_ones);
    suite_add_tcase(suite, tests);
    return suite;
}
