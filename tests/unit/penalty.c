/* Penalties of strangers.c: their threshold, their limit, how they expire, and a full table. */
#include "strangers.h"

#include "unit.h"

#define NOW_MS 1000000

static struct penalties penalties;

static struct in6_addr address(unsigned number)
{
    return (struct in6_addr){
        .s6_addr = {192, (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number}};
}

static int64_t add(unsigned number, int64_t added_ms, int64_t now_ms)
{
    struct in6_addr source = address(number);
    return penalty_add(&penalties, &source, added_ms, now_ms);
}

static bool refuses(unsigned number, int64_t now_ms)
{
    struct in6_addr source = address(number);
    return penalty_refuses(&penalties, &source, now_ms);
}

static void set_up(void)
{
    penalties = (struct penalties){.threshold_ms = 30000, .limit_ms = 300000};
}

START_TEST(below_the_threshold_nothing_happens)
{
    for (int i = 0; i < 9; i++) {
        ck_assert_int_eq(add(1, 3000, NOW_MS), 0);
        ck_assert(!refuses(1, NOW_MS));
    }
    ck_assert_int_eq(add(1, 3000, NOW_MS), 30000);
    ck_assert(refuses(1, NOW_MS));
    ck_assert(!refuses(2, NOW_MS));
}
END_TEST

START_TEST(expires_as_time_passes)
{
    add(1, 40000, NOW_MS);
    ck_assert_msg(refuses(1, NOW_MS + 39999), "less than the threshold is left, but not nothing");
    ck_assert(!refuses(1, NOW_MS + 40000));
    /* An expired penalty adds nothing to the next one. */
    ck_assert_int_eq(add(1, 29999, NOW_MS + 40000), 0);
    ck_assert(!refuses(1, NOW_MS + 40000));
}
END_TEST

/* An address that fails every three seconds without end. */
START_TEST(slow_failures_never_reach_the_threshold)
{
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(add(1, 3000, NOW_MS + i * 3000), 0);
    }
}
END_TEST

START_TEST(reported_once)
{
    ck_assert_int_eq(add(1, 30000, NOW_MS), 30000);
    ck_assert_int_eq(add(1, 10000, NOW_MS + 1000), 0);
    ck_assert(refuses(1, NOW_MS + 39999));
    ck_assert_int_eq(add(1, 50000, NOW_MS + 40000), 50000);
}
END_TEST

START_TEST(never_above_the_limit)
{
    ck_assert_int_eq(add(1, 1000000, NOW_MS), 300000);
    add(1, 1000000, NOW_MS + 1000);
    ck_assert(refuses(1, NOW_MS + 300999));
    ck_assert(!refuses(1, NOW_MS + 301000));
}
END_TEST

START_TEST(forgiven)
{
    struct in6_addr source = address(1);
    add(1, 50000, NOW_MS);
    add(2, 50000, NOW_MS);
    penalty_forgive(&penalties, &source);
    ck_assert(!refuses(1, NOW_MS) && refuses(2, NOW_MS));
    ck_assert_int_eq(add(1, 29000, NOW_MS), 0);
}
END_TEST

START_TEST(no_penalties_without_a_threshold)
{
    penalties.threshold_ms = 0;
    ck_assert_int_eq(add(1, 1000000, NOW_MS), 0);
    ck_assert(!refuses(1, NOW_MS));
}
END_TEST

/* A network full of addresses that fail once each: who is refused stays so, and there is still room
 * for one that goes on failing. */
START_TEST(a_full_table_replaces_the_first_to_expire)
{
    add(1, 40000, NOW_MS);
    for (unsigned number = 100; number < 100 + 4 * LIMIT_LISTEN_PENALTIES; number++) {
        add(number, 1000, NOW_MS);
    }
    ck_assert(refuses(1, NOW_MS));
    for (int i = 0; i < 4; i++) {
        add(2, 10000, NOW_MS);
    }
    ck_assert(refuses(1, NOW_MS) && refuses(2, NOW_MS));
}
END_TEST

START_TEST(a_table_full_of_refused_addresses)
{
    for (unsigned number = 100; number < 100 + LIMIT_LISTEN_PENALTIES; number++) {
        add(number, 40000 + number, NOW_MS);
    }
    add(1, 50000, NOW_MS);
    ck_assert(refuses(1, NOW_MS));
    ck_assert_msg(!refuses(100, NOW_MS), "the least was to give way");
    ck_assert(refuses(101, NOW_MS));
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("penalty");
    TCase *tests = tcase_create("penalty");
    tcase_add_checked_fixture(tests, set_up, NULL);
    tcase_add_test(tests, below_the_threshold_nothing_happens);
    tcase_add_test(tests, expires_as_time_passes);
    tcase_add_test(tests, slow_failures_never_reach_the_threshold);
    tcase_add_test(tests, reported_once);
    tcase_add_test(tests, never_above_the_limit);
    tcase_add_test(tests, forgiven);
    tcase_add_test(tests, no_penalties_without_a_threshold);
    tcase_add_test(tests, a_full_table_replaces_the_first_to_expire);
    tcase_add_test(tests, a_table_full_of_refused_addresses);
    suite_add_tcase(suite, tests);
    return suite;
}
