/* Compared with the processor's division. */
#include <check.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

uint64_t __aeabi_uidivmod(uint32_t numerator, uint32_t denominator);
uint32_t __aeabi_uidiv(uint32_t numerator, uint32_t denominator);
uint64_t __aeabi_idivmod(int32_t numerator, int32_t denominator);
int32_t __aeabi_idiv(int32_t numerator, int32_t denominator);

static const uint32_t edges[] = {0,          1,          2,          3,          7,
                                 10,         1000,       0x7ffffffe, 0x7fffffff, 0x80000000,
                                 0x80000001, 0xfffffffe, 0xffffffff};

#define EDGES (sizeof(edges) / sizeof(edges[0]))

static void divide(uint32_t numerator, uint32_t denominator)
{
    if (denominator == 0) {
        return;
    }
    uint64_t both = __aeabi_uidivmod(numerator, denominator);
    ck_assert_uint_eq((uint32_t)both, numerator / denominator);
    ck_assert_uint_eq(both >> 32, numerator % denominator);
    ck_assert_uint_eq(__aeabi_uidiv(numerator, denominator), numerator / denominator);

    int32_t above = (int32_t)numerator;
    int32_t below = (int32_t)denominator;
    if (above == INT32_MIN && below == -1) {
        return; /* has no result */
    }
    both = __aeabi_idivmod(above, below);
    ck_assert_int_eq((int32_t)both, above / below);
    ck_assert_int_eq((int32_t)(both >> 32), above % below);
    ck_assert_int_eq(__aeabi_idiv(above, below), above / below);
}

START_TEST(edges_divide)
{
    for (size_t i = 0; i < EDGES * EDGES; i++) {
        divide(edges[i / EDGES], edges[i % EDGES]);
    }
}
END_TEST

START_TEST(any_numbers_divide)
{
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        /* Denominators of all lengths. */
        divide((uint32_t)(state >> 32), (uint32_t)state >> (i % 32));
    }
}
END_TEST

START_TEST(zero_is_no_denominator)
{
    pid_t child = fork();
    if (child == 0) {
        _exit(__aeabi_uidiv(1, 0) == 0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("static_division");
    TCase *tests = tcase_create("division");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, edges_divide);
    tcase_add_test(tests, any_numbers_divide);
    tcase_add_test(tests, zero_is_no_denominator);
    suite_add_tcase(suite, tests);
    return suite;
}
