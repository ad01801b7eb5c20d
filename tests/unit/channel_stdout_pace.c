/*
 * For channel_stdout.c: how much may be in flight: enough for a far client and for one that returns
 * window in large steps, never so little that client and server wait for each other; and its effect
 * on two sessions.
 */
#include "channel_streams.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "program.h"
#include "unit.h"

#define PACKET 32768U

static struct pace pace;

static void start(void)
{
    memset(&pace, 0, sizeof(pace));
}

/* Sends until the pace holds or the window is used up; returns how much is in flight then. */
static uint32_t send_all(uint32_t window, uint64_t now_ms)
{
    while (!pace_holds(&pace) && pace.in_flight + PACKET <= window) {
        pace_sent(&pace, PACKET, now_ms);
    }
    return pace.in_flight;
}

/* A client that is `delay_ms` away and returns window in steps of `step`. */
static uint32_t run(uint32_t window, uint32_t step, uint64_t delay_ms)
{
    uint32_t most = 0;
    uint64_t now_ms = 1000;
    for (int i = 0; i < 2000; i++) {
        most = send_all(window, now_ms);
        ck_assert_msg(most >= step, "held with %u in flight: less than a step", (unsigned)most);
        now_ms += delay_ms;
        pace_returned(&pace, step, now_ms);
    }
    return most;
}

UNIT_FIXTURE(start, NULL);

TEST(nothing_is_held_before_a_delay_is_known)
{
    ck_assert(!pace_holds(&pace));
    ck_assert_uint_eq(send_all(1U << 30, 5), 1U << 30);
}

TEST(a_near_client_has_little_in_flight)
{
    ck_assert_uint_lt(run(1U << 21, 98304, 0), 400000);
}

/* As much as a gigabit link carries in a round trip; the window is larger. */
TEST(a_far_client_has_much_in_flight)
{
    ck_assert_uint_gt(run(1U << 25, 98304, 10), 10 * 125000);
    start();
    ck_assert_uint_gt(run(1U << 25, 98304, 100), 100 * 125000);
}

TEST(large_steps_are_waited_for)
{
    for (uint32_t step = 1; step <= 1U << 21; step *= 2) {
        start();
        ck_assert_uint_ge(run(1U << 22, step, 0), step);
    }
}

/* A delay while much data waited says nothing about the distance. */
TEST(the_shortest_delay_counts)
{
    run(1U << 25, 98304, 50);
    ck_assert_uint_eq(pace.delay_ms, 50);
    uint64_t now_ms = 100000;
    pace_returned(&pace, pace.in_flight, now_ms);
    pace_sent(&pace, PACKET, now_ms);
    pace_returned(&pace, PACKET, now_ms + 3);
    ck_assert_uint_eq(pace.delay_ms, 3);
    pace_sent(&pace, PACKET, now_ms + 10);
    pace_returned(&pace, PACKET, now_ms + 60);
    ck_assert_uint_eq(pace.delay_ms, 3);
}

TEST(more_comes_back_than_was_sent)
{
    pace_returned(&pace, UINT32_MAX, 1);
    ck_assert_uint_eq(pace.in_flight, 0);
    pace_sent(&pace, 10, 2);
    pace_returned(&pace, UINT32_MAX, 3);
    ck_assert_uint_eq(pace.in_flight, 0);
    ck_assert_uint_eq(pace.delay_ms, 1);
}

TEST(a_forgotten_delay_is_measured_again)
{
    run(1U << 21, 98304, 2);
    send_all(1U << 21, 5000);
    ck_assert(pace_holds(&pace));
    ck_assert_uint_gt(pace_deadline_ms(&pace), pace.moved_ms);
    pace_forget_delay(&pace);
    ck_assert(!pace_holds(&pace));
    ck_assert_uint_gt(send_all(1U << 22, 6000), 4000000);
    pace_returned(&pace, pace.in_flight - 98304, 6001);
    pace_returned(&pace, 98304, 6001);
    send_all(1U << 22, 6002);
    ck_assert(pace_holds(&pace));
}

/* ---- between sessions ------------------------------------------------------------------------ */

static struct rig rig;
static struct program bulk, other;
static uint8_t bytes[65536];

static void start_sessions(void)
{
    signal(SIGPIPE, SIG_IGN);
    rig_open(&rig, SSH_PHASE_OPEN);
    rig.connection->now_ms = 1000;
    program_run(&rig, &bulk, 1);
    other = (struct program){.in = -1, .out = -1, .err = -1, .exit = -1, .slave = -1};
}

static void finish_sessions(void)
{
    program_close_all(&bulk);
    program_close_all(&other);
}

static struct pace *pace_of(const struct program *program)
{
    return &rig.connection->channels[program->channel].pace;
}

/* All that the server sends while the client reads it and returns no window. One turn without
 * output may only have found that something has changed. */
static uint32_t send_until_it_stops(void)
{
    uint32_t before = 0;
    for (int idle = 0; idle < 3 && before < 1U << 24; idle++) {
        while (write(bulk.out, bytes, sizeof(bytes)) > 0) {
        }
        program_turn(&rig, 0);
        program_drop_output(&rig);
        idle = pace_of(&bulk)->in_flight > before ? 0 : idle;
        before = pace_of(&bulk)->in_flight;
    }
    return before;
}

static void make_known(void)
{
    send_until_it_stops();
    rig_say(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", bulk.channel, pace_of(&bulk)->in_flight);
    program_turn(&rig, 0);
    program_drop_output(&rig);
    rig_say(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", bulk.channel, 100000);
    pace_of(&bulk)->in_flight = 0;
    ck_assert(pace_of(&bulk)->delay_known);
}

UNIT_CASE("between sessions");
UNIT_FIXTURE(start_sessions, finish_sessions);
UNIT_TIMEOUT(60);

TEST(alone_it_is_not_held)
{
    make_known();
    ck_assert_uint_ge(send_until_it_stops(), 1U << 24);
    ck_assert_uint_eq(program_plan(&rig).deadline_ms, UINT64_MAX);
}

TEST(beside_another_it_is_held)
{
    make_known();
    program_run(&rig, &other, 2);
    uint32_t held_at = send_until_it_stops();
    ck_assert_uint_lt(held_at, 400000);
    /* The other one is not held, and poll() waits. */
    program_write(other.out, "x", 1);
    program_turn(&rig, 0);
    rig_expect(&rig, SSH_MSG_CHANNEL_DATA, "us", 2, "x");
    program_expect_idle(&rig);
    /* The client has read it. */
    rig_say(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", bulk.channel, 100000);
    ck_assert_uint_gt(send_until_it_stops(), held_at - PACKET);
}

TEST(a_client_that_returns_no_window_gets_more_in_the_end)
{
    make_known();
    program_run(&rig, &other, 2);
    send_until_it_stops();
    uint64_t next_ms = program_plan(&rig).deadline_ms;
    ck_assert_uint_gt(next_ms, rig.connection->now_ms);
    rig.connection->now_ms = next_ms - 1;
    uint32_t held_at = send_until_it_stops();
    ck_assert_uint_lt(held_at, 400000);
    rig.connection->now_ms = next_ms;
    ck_assert_uint_ge(send_until_it_stops(), 1U << 24);
    ck_assert_uint_eq(program_plan(&rig).deadline_ms, UINT64_MAX);
}

TEST(the_other_one_ends)
{
    make_known();
    program_run(&rig, &other, 2);
    ck_assert_uint_lt(send_until_it_stops(), 400000);
    program_exit(&other, 0, 0, 0);
    program_close_all(&other);
    ck_assert_uint_ge(send_until_it_stops(), 1U << 24);
}
