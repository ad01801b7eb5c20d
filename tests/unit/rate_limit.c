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

UNIT_FIXTURE(set_up, NULL);

static unsigned allow(unsigned tries, int64_t now_ms)
{
    unsigned allowed = 0;
    for (unsigned i = 0; i < tries; i++) {
        allowed += rate_limit_allow(&limit, now_ms);
    }
    return allowed;
}

TEST(some_at_once)
{
    ck_assert_uint_eq(allow(100, NOW_MS), LIMIT_LISTEN_LINES);
    ck_assert_uint_eq(limit.suppressed, 100 - LIMIT_LISTEN_LINES);
}

TEST(then_one_in_each_time)
{
    allow(100, NOW_MS);
    ck_assert_uint_eq(allow(100, NOW_MS + LIMIT_LISTEN_LINE_MS - 1), 0);
    ck_assert_uint_eq(allow(100, NOW_MS + LIMIT_LISTEN_LINE_MS), 1);
    ck_assert_uint_eq(allow(100, NOW_MS + 4 * LIMIT_LISTEN_LINE_MS), 3);
    ck_assert_uint_eq(allow(100, NOW_MS + 1000 * LIMIT_LISTEN_LINE_MS), LIMIT_LISTEN_LINES);
}

TEST(few_are_all_written)
{
    for (int i = 0; i < 1000; i++) {
        ck_assert_uint_eq(allow(1, NOW_MS + i * LIMIT_LISTEN_LINE_MS), 1);
    }
    ck_assert_uint_eq(rate_limit_summary(&limit, NOW_MS * 1000, true), 0);
}

TEST(the_summary)
{
    allow(100, NOW_MS);
    allow(100, NOW_MS + 1);
    ck_assert_uint_eq(rate_limit_summary(&limit, NOW_MS + LIMIT_LISTEN_SUMMARY_MS - 1, false), 0);
    ck_assert_uint_eq(rate_limit_summary(&limit, NOW_MS + LIMIT_LISTEN_SUMMARY_MS, false),
                      200 - LIMIT_LISTEN_LINES);
    ck_assert_uint_eq(rate_limit_summary(&limit, NOW_MS + LIMIT_LISTEN_SUMMARY_MS, true), 0);
}

TEST(the_summary_at_once)
{
    allow(LIMIT_LISTEN_LINES + 7, NOW_MS);
    ck_assert_uint_eq(rate_limit_summary(&limit, NOW_MS, true), 7);
}
