/* Compared with glibc's, for all numbers of errors. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

char *small_strerror(int number);

/* Each error has glibc's text or its number. */
START_TEST(texts_are_those_of_libc)
{
    int known = 0;
    for (int number = -1; number < 4096; number++) {
        const char *text = small_strerror(number);
        char in_numbers[32];
        snprintf(in_numbers, sizeof(in_numbers), "error %d", number);
        if (strcmp(text, in_numbers) != 0) {
            ck_assert_str_eq(text, strerror(number));
            known++;
        }
    }
    ck_assert_int_eq(known, 42);
}
END_TEST

START_TEST(frequent_errors_have_a_text)
{
    ck_assert_str_eq(small_strerror(EPERM), "Operation not permitted");
    ck_assert_str_eq(small_strerror(EACCES), "Permission denied");
    ck_assert_str_eq(small_strerror(EDQUOT), "Disk quota exceeded");
}
END_TEST

START_TEST(others_have_a_number)
{
    ck_assert_str_eq(small_strerror(0), "error 0");
    ck_assert_str_eq(small_strerror(-2147483647 - 1), "error -2147483648");
    ck_assert_str_eq(small_strerror(EPERM + 256), "error 257");
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("static_errors");
    TCase *tests = tcase_create("strerror");
    tcase_add_test(tests, texts_are_those_of_libc);
    tcase_add_test(tests, frequent_errors_have_a_text);
    tcase_add_test(tests, others_have_a_number);
    suite_add_tcase(suite, tests);
    return suite;
}
