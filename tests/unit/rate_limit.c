/* How many lines a flood may write, and the count of those that are suppressed. */
#include "listen.h"

#include "limit.h"
#include "unit.h"

#define NOW_MS 1000000

static struct rate_limit limit;

static void set_up(void)
{
    limit = (struct rate_limit){0};
}

static unsigned allow(unsigned tries, int64_t now_ms)
{
    unsigned allowed = 0;
    for (unsigned i = 0; i < tries; i++) {
        allowed += rate_limit_allow(&limit, now_ms);
    }
    return allowed;
}

START_TEST(some_at_once)
{
    ck_assert_uint_eq(allow(100, NOW_MS), LIMIT_LISTEN_LINES);
    ck_assert_uint_eq(limit.suppressed, 100 - LIMIT_LISTEN_LINES);
}
END_TEST

START_TEST(then_one_in_each_time)
{
    allow(100, NOW_MS);
    ck_assert_uint_eq(allow(100, NOW_MS + LIMIT_LISTEN_LINE_MS - 1), 0);
    ck_assert_uint_eq(allow(100, NOW_MS + LIMIT_LISTEN_LINE_MS), 1);
    ck_assert_uint_eq(allow(100, NOW_MS + 4 * LIMIT_LISTEN_LINE_MS), 3);
    ck_assert_uint_eq(allow(100, NOW_MS + 1000 * LIMIT_LISTEN_LINE_MS), LIMIT_LISTEN_LINES);
}
END_TEST

START_TEST(few_are_all_written)
{
    for (int i = 0; i < 1000; i++) {
        ck_assert_uint_eq(allow(1, NOW_MS + i * LIMIT_LISTEN_LINE_MS), 1);
    }
    ck_assert_uint_eq(rate_limit_summary(&limit, NOW_MS * 1000, true), 0);
}
END_TEST

START_TEST(the_summary)
{
    allow(100, NOW_MS);
    allow(100, NOW_MS + 1);
    ck_assert_uint_eq(rate_limit_summary(&limit, NOW_MS + LIMIT_LISTEN_SUMMARY_MS - 1, false), 0);
    ck_assert_uint_eq(rate_limit_summary(&limit, NOW_MS + LIMIT_LISTEN_SUMMARY_MS, false),
                      200 - LIMIT_LISTEN_LINES);
    ck_assert_uint_eq(rate_limit_summary(&limit, NOW_MS + LIMIT_LISTEN_SUMMARY_MS, true), 0);
}
END_TEST

START_TEST(the_summary_at_once)
{
    allow(LIMIT_LISTEN_LINES + 7, NOW_MS);
    ck_assert_uint_eq(rate_limit_summary(&limit, NOW_MS, true), 7);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("rate_limit");
    TCase *tests = tcase_create("rate_limit");
    tcase_add_checked_fixture(tests, set_up, NULL);
    tcase_add_test(tests, some_at_once);
    tcase_add_test(tests, then_one_in_each_time);
    tcase_add_test(tests, few_are_all_written);
    tcase_add_test(tests, the_summary);
    tcase_add_test(tests, the_summary_at_once);
    suite_add_tcase(suite, tests);
    return suite;
}
