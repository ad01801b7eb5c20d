/*
 * What may be under way: enough for a far client and for one that gives window back in large steps,
 * never so little that it waits for us and we for it; and what comes of it between two sessions.
 */
#include "pace.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "channel_poll.h"
#include "program.h"
#include "unit.h"

#define PACKET 32768U

static struct pace pace;

static void start(void)
{
    memset(&pace, 0, sizeof(pace));
}

/* A client that is `delay_ms` away and gives window back in steps of `step`: sends until it is held
 * or the window is used up, and returns how much that was. */
static uint32_t send_all(uint32_t window, uint64_t now_ms)
{
    while (!pace_holds(&pace) && pace.under_way + PACKET <= window) {
        pace_sent(&pace, PACKET, now_ms);
    }
    return pace.under_way;
}

static uint32_t run(uint32_t window, uint32_t step, uint64_t delay_ms)
{
    uint32_t most = 0;
    uint64_t now_ms = 1000;
    for (int i = 0; i < 2000; i++) {
        most = send_all(window, now_ms);
        ck_assert_msg(most >= step, "held with %u under way: less than a step", (unsigned)most);
        now_ms += delay_ms;
        pace_returned(&pace, step, now_ms);
    }
    return most;
}

START_TEST(nothing_is_held_before_a_delay_is_known)
{
    ck_assert(!pace_holds(&pace));
    ck_assert_uint_eq(send_all(1U << 30, 5), 1U << 30);
}
END_TEST

START_TEST(a_near_client_has_little_under_way)
{
    ck_assert_uint_lt(run(1U << 21, 98304, 0), 400000);
}
END_TEST

/* As much as a gigabit link carries there and back, and no window is in the way. */
START_TEST(a_far_client_has_much_under_way)
{
    ck_assert_uint_gt(run(1U << 25, 98304, 10), 10 * 125000);
    start();
    ck_assert_uint_gt(run(1U << 25, 98304, 100), 100 * 125000);
}
END_TEST

START_TEST(large_steps_are_waited_for)
{
    for (uint32_t step = 1; step <= 1U << 21; step *= 2) {
        start();
        ck_assert_uint_ge(run(1U << 22, step, 0), step);
    }
}
END_TEST

/* The shortest delay counts: what it was while much waited says nothing of the way. */
START_TEST(the_shortest_delay_counts)
{
    run(1U << 25, 98304, 50);
    ck_assert_uint_eq(pace.delay_ms, 50);
    uint64_t now_ms = 100000;
    pace_returned(&pace, pace.under_way, now_ms);
    pace_sent(&pace, PACKET, now_ms);
    pace_returned(&pace, PACKET, now_ms + 3);
    ck_assert_uint_eq(pace.delay_ms, 3);
    pace_sent(&pace, PACKET, now_ms + 10);
    pace_returned(&pace, PACKET, now_ms + 60);
    ck_assert_uint_eq(pace.delay_ms, 3);
}
END_TEST

START_TEST(more_comes_back_than_was_sent)
{
    pace_returned(&pace, UINT32_MAX, 1);
    ck_assert_uint_eq(pace.under_way, 0);
    pace_sent(&pace, 10, 2);
    pace_returned(&pace, UINT32_MAX, 3);
    ck_assert_uint_eq(pace.under_way, 0);
    ck_assert_uint_eq(pace.delay_ms, 1);
}
END_TEST

START_TEST(giving_up_ends_it_until_it_is_seen_again)
{
    run(1U << 21, 98304, 2);
    send_all(1U << 21, 5000);
    ck_assert(pace_holds(&pace));
    ck_assert_uint_gt(pace_patience_ends_ms(&pace), pace.moved_ms);
    pace_give_up(&pace);
    ck_assert(!pace_holds(&pace));
    ck_assert_uint_gt(send_all(1U << 22, 6000), 4000000);
    pace_returned(&pace, pace.under_way - 98304, 6001);
    pace_returned(&pace, 98304, 6001);
    send_all(1U << 22, 6002);
    ck_assert(pace_holds(&pace));
}
END_TEST

/* ---- between sessions ------------------------------------------------------------------------ */

static struct rig rig;
static struct program bulk, other;
static uint8_t bytes[65536];

static void start_sessions(void)
{
    signal(SIGPIPE, SIG_IGN);
    rig_open(&rig, PHASE_OPEN);
    rig.connection->now_ms = 1000;
    program_run(&rig, &bulk, 1);
    other = (struct program){.in = -1, .out = -1, .err = -1, .exit = -1, .slave = -1};
}

static void finish_sessions(void)
{
    program_close_all(&bulk);
    program_close_all(&other);
    rig_close(&rig);
}

static struct pace *pace_of(const struct program *program)
{
    return &rig.connection->channels[program->channel].pace;
}

/* All that the server sends while the client takes it and gives no window back. A turn without any
 * may have been one that something else was found out in. */
static uint32_t send_until_it_stops(void)
{
    uint32_t before = 0;
    for (int idle = 0; idle < 3 && before < 1U << 24; idle++) {
        while (write(bulk.out, bytes, sizeof(bytes)) > 0) {
        }
        program_turn(&rig, 0);
        program_drop_output(&rig);
        idle = pace_of(&bulk)->under_way > before ? 0 : idle;
        before = pace_of(&bulk)->under_way;
    }
    return before;
}

static void make_known(void)
{
    send_until_it_stops();
    rig_say(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", bulk.channel, pace_of(&bulk)->under_way);
    program_turn(&rig, 0);
    program_drop_output(&rig);
    rig_say(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", bulk.channel, 100000);
    pace_of(&bulk)->under_way = 0;
    ck_assert(pace_of(&bulk)->known);
}

START_TEST(alone_it_is_not_held)
{
    make_known();
    ck_assert_uint_ge(send_until_it_stops(), 1U << 24);
    ck_assert_uint_eq(channel_poll_next_ms(rig.connection), UINT64_MAX);
}
END_TEST

START_TEST(beside_another_it_is_held)
{
    make_known();
    program_run(&rig, &other, 2);
    uint32_t held_at = send_until_it_stops();
    ck_assert_uint_lt(held_at, 400000);
    /* The other one is not, and poll() rests. */
    program_write(other.out, "x", 1);
    program_turn(&rig, 0);
    rig_expect(&rig, SSH_MSG_CHANNEL_DATA, "us", 2, "x");
    program_expect_rest(&rig);
    /* The client has taken it. */
    rig_say(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", bulk.channel, 100000);
    ck_assert_uint_gt(send_until_it_stops(), held_at - PACKET);
}
END_TEST

START_TEST(a_client_that_gives_nothing_back_gets_more_in_the_end)
{
    make_known();
    program_run(&rig, &other, 2);
    send_until_it_stops();
    uint64_t next_ms = channel_poll_next_ms(rig.connection);
    ck_assert_uint_gt(next_ms, rig.connection->now_ms);
    rig.connection->now_ms = next_ms - 1;
    uint32_t held_at = send_until_it_stops();
    ck_assert_uint_lt(held_at, 400000);
    rig.connection->now_ms = next_ms;
    ck_assert_uint_ge(send_until_it_stops(), 1U << 24);
    ck_assert_uint_eq(channel_poll_next_ms(rig.connection), UINT64_MAX);
}
END_TEST

START_TEST(the_other_one_ends)
{
    make_known();
    program_run(&rig, &other, 2);
    ck_assert_uint_lt(send_until_it_stops(), 400000);
    program_exit(&other, 0, 0, 0);
    program_close_all(&other);
    ck_assert_uint_ge(send_until_it_stops(), 1U << 24);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("pace");
    TCase *tests = tcase_create("pace");
    tcase_add_checked_fixture(tests, start, NULL);
    tcase_add_test(tests, nothing_is_held_before_a_delay_is_known);
    tcase_add_test(tests, a_near_client_has_little_under_way);
    tcase_add_test(tests, a_far_client_has_much_under_way);
    tcase_add_test(tests, large_steps_are_waited_for);
    tcase_add_test(tests, the_shortest_delay_counts);
    tcase_add_test(tests, more_comes_back_than_was_sent);
    tcase_add_test(tests, giving_up_ends_it_until_it_is_seen_again);
    suite_add_tcase(suite, tests);
    TCase *sessions = tcase_create("between sessions");
    tcase_add_checked_fixture(sessions, start_sessions, finish_sessions);
    tcase_set_timeout(sessions, 60);
    tcase_add_test(sessions, alone_it_is_not_held);
    tcase_add_test(sessions, beside_another_it_is_held);
    tcase_add_test(sessions, a_client_that_gives_nothing_back_gets_more_in_the_end);
    tcase_add_test(sessions, the_other_one_ends);
    suite_add_tcase(suite, sessions);
    return suite;
}
