/* How many lines a flood writes, and that the others are counted. */
#include "listen_lines.h"

#include "limit.h"
#include "unit.h"

#define NOW_MS 1000000

static struct lines lines;

static void set_up(void)
{
    lines = (struct lines){0};
}

static unsigned take(unsigned tries, int64_t now_ms)
{
    unsigned taken = 0;
    for (unsigned i = 0; i < tries; i++) {
        taken += lines_take(&lines, now_ms);
    }
    return taken;
}

START_TEST(some_at_once)
{
    ck_assert_uint_eq(take(100, NOW_MS), LIMIT_LISTEN_LINES);
    ck_assert_uint_eq(lines.left_out, 100 - LIMIT_LISTEN_LINES);
}
END_TEST

START_TEST(then_one_in_each_time)
{
    take(100, NOW_MS);
    ck_assert_uint_eq(take(100, NOW_MS + LIMIT_LISTEN_LINE_MS - 1), 0);
    ck_assert_uint_eq(take(100, NOW_MS + LIMIT_LISTEN_LINE_MS), 1);
    ck_assert_uint_eq(take(100, NOW_MS + 4 * LIMIT_LISTEN_LINE_MS), 3);
    ck_assert_uint_eq(take(100, NOW_MS + 1000 * LIMIT_LISTEN_LINE_MS), LIMIT_LISTEN_LINES);
}
END_TEST

START_TEST(few_are_all_written)
{
    for (int i = 0; i < 1000; i++) {
        ck_assert_uint_eq(take(1, NOW_MS + i * LIMIT_LISTEN_LINE_MS), 1);
    }
    ck_assert_uint_eq(lines_summary(&lines, NOW_MS * 1000, true), 0);
}
END_TEST

START_TEST(the_summary)
{
    take(100, NOW_MS);
    take(100, NOW_MS + 1);
    ck_assert_uint_eq(lines_summary(&lines, NOW_MS + LIMIT_LISTEN_SUMMARY_MS - 1, false), 0);
    ck_assert_uint_eq(lines_summary(&lines, NOW_MS + LIMIT_LISTEN_SUMMARY_MS, false),
                      200 - LIMIT_LISTEN_LINES);
    ck_assert_uint_eq(lines_summary(&lines, NOW_MS + LIMIT_LISTEN_SUMMARY_MS, true), 0);
}
END_TEST

START_TEST(the_summary_at_once)
{
    take(LIMIT_LISTEN_LINES + 7, NOW_MS);
    ck_assert_uint_eq(lines_summary(&lines, NOW_MS, true), 7);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("listen_lines");
    TCase *tests = tcase_create("listen_lines");
    tcase_add_checked_fixture(tests, set_up, NULL);
    tcase_add_test(tests, some_at_once);
    tcase_add_test(tests, then_one_in_each_time);
    tcase_add_test(tests, few_are_all_written);
    tcase_add_test(tests, the_summary);
    tcase_add_test(tests, the_summary_at_once);
    suite_add_tcase(suite, tests);
    return suite;
}
