/*
 * Windows grow while programs read, and shrink when they stop; memory stays bounded.
 */
#include "channels.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "net.h"
#include "program.h"
#include "unit.h"

#define REMOTE 42

static struct rig rig;
static struct program programs[LIMIT_CHANNELS];
static struct program *const program = &programs[0];
static uint8_t bytes[LIMIT_CHANNEL_PACKET_BYTES], back[LIMIT_LARGEST_WINDOW_BYTES];

static void start(void)
{
    signal(SIGPIPE, SIG_IGN);
    rig_open(&rig, SSH_PHASE_OPEN);
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        programs[i] = (struct program){.in = -1, .out = -1, .err = -1, .exit = -1, .slave = -1};
    }
    memset(bytes, 'x', sizeof(bytes));
    /* As the loop has it when it has read all that there was. */
    rig.connection->socket.input_empty = true;
}

static void finish(void)
{
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        program_close_all(&programs[i]);
    }
}

UNIT_FIXTURE(start, finish);
UNIT_TIMEOUT(60);

static struct channel *channel_of(const struct program *one)
{
    return &rig.connection->channels[one->channel];
}

/* The sum of all WINDOW_ADJUSTs since the last call, of all channels. */
static size_t take_adjusts(void)
{
    size_t sum = 0;
    while (rig.connection->output_start < rig.connection->output_end) {
        struct reader message = rig_hear(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST);
        reader_u32(&message);
        sum += reader_u32(&message);
        ck_assert(reader_end(&message));
    }
    return sum;
}

static void say_data(const struct program *one, size_t count)
{
    while (count > 0) {
        size_t part = count < sizeof(bytes) ? count : sizeof(bytes);
        rig_say(&rig, SSH_MSG_CHANNEL_DATA, "ud", one->channel, bytes, part);
        program_check_windows(&rig);
        count -= part;
    }
}

/* The client sends a quarter of its window, and the program reads it all. */
static void move_a_step(const struct program *one)
{
    size_t left = channel_of(one)->limit / 4;
    while (left > 0) {
        size_t part = left < sizeof(bytes) ? left : sizeof(bytes);
        say_data(one, part);
        ck_assert_uint_eq(program_read(one->in, back, sizeof(back)), part);
        left -= part;
    }
    program_turn(&rig, 0);
}

/* For `seconds`, with a client that needs `least_ms` for a window, and more if its link carries
 * only `bytes_a_ms`. All sessions up to `last` send. */
static void move_windows(const struct program *last, uint64_t seconds, size_t least_ms,
                         size_t bytes_a_ms)
{
    uint64_t end_ms = rig.connection->now_ms + seconds * 1000;
    while (rig.connection->now_ms < end_ms) {
        size_t sent = 0;
        for (const struct program *one = programs; one <= last; one++) {
            sent += channel_of(one)->limit;
        }
        size_t narrow_ms = sent / bytes_a_ms;
        rig.connection->now_ms += (narrow_ms > least_ms ? narrow_ms : least_ms) / 4;
        for (const struct program *one = programs; one <= last; one++) {
            move_a_step(one);
            take_adjusts();
        }
    }
}

/* With a client that is far away. */
static void grow(const struct program *one)
{
    for (int i = 0; i < 240; i++) {
        rig.connection->now_ms += 100;
        move_a_step(one);
        take_adjusts();
    }
}

TEST(grows_with_a_program_that_reads)
{
    program_run(&rig, program, REMOTE);
    const struct channel *channel = channel_of(program);
    /* So much may be in the pipe unread. */
    for (size_t moved = 0; moved < LIMIT_FIRST_PIPE_BYTES; moved += LIMIT_WINDOW_BYTES / 4) {
        move_a_step(program);
        ck_assert_uint_eq(take_adjusts(), LIMIT_WINDOW_BYTES / 4);
    }
    move_a_step(program);
    ck_assert_uint_eq(take_adjusts(), LIMIT_WINDOW_BYTES / 4 + 3 * LIMIT_WINDOW_BYTES);
    ck_assert_uint_eq(channel->limit, 4 * LIMIT_WINDOW_BYTES);
    ck_assert_uint_eq(channel->window, 4 * LIMIT_WINDOW_BYTES);
    grow(program);
    ck_assert_uint_eq(channel->limit, LIMIT_LARGEST_WINDOW_BYTES);
    ck_assert_uint_eq(channel->window, LIMIT_LARGEST_WINDOW_BYTES);
}

TEST(does_not_grow_while_there_is_more_to_read)
{
    program_run(&rig, program, REMOTE);
    rig.connection->socket.input_empty = false;
    for (int i = 0; i < 5; i++) {
        move_a_step(program);
        ck_assert_uint_eq(take_adjusts(), LIMIT_WINDOW_BYTES / 4);
    }
    ck_assert_uint_eq(channel_of(program)->limit, LIMIT_WINDOW_BYTES);
}

/* Fills the pipe, which is not made larger. */
static size_t fill_stdin(const struct program *one)
{
    struct channel *channel = channel_of(one);
    size_t filled = 0;
    channel->stdin_widened = true;
    while (write(channel->child_stdin, bytes, 4096) > 0) {
        filled += 4096;
    }
    return filled;
}

/* Nor while data for the program is queued. */
TEST(does_not_grow_while_the_program_is_behind)
{
    program_run(&rig, program, REMOTE);
    fill_stdin(program);
    say_data(program, LIMIT_WINDOW_BYTES);
    program_turn(&rig, 0);
    ck_assert_uint_eq(take_adjusts(), 0);
    ck_assert_uint_gt(channel_of(program)->pending.bytes, 0);
    ck_assert_uint_eq(channel_of(program)->limit, LIMIT_WINDOW_BYTES);
}

/* All of a grown window fits into the pool, and one byte more is refused. */
TEST(a_program_that_stops_after_growth)
{
    program_run(&rig, program, REMOTE);
    grow(program);
    const struct channel *channel = channel_of(program);
    fill_stdin(program);
    say_data(program, channel->window);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    ck_assert_uint_gt(channel->pending.bytes, LIMIT_LARGEST_WINDOW_BYTES - 4096);
    rig_say(&rig, SSH_MSG_CHANNEL_DATA, "ud", program->channel, bytes, (size_t)1);
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "data beyond the window");
}

/* A program that reads slowly gets the first window again; later the window grows again. */
TEST(shrinks_with_a_program_that_stops)
{
    program_run(&rig, program, REMOTE);
    grow(program);
    const struct channel *channel = channel_of(program);
    size_t got = 0, given = 0, sent = fill_stdin(program) + channel->window;
    say_data(program, channel->window);
    for (int i = 0; i < 100000 && channel->limit > LIMIT_WINDOW_BYTES; i++) {
        got += program_read(program->in, back, 10000);
        program_turn(&rig, 0);
        given += take_adjusts();
        ck_assert(given == 0 || channel->limit <= LIMIT_LARGEST_WINDOW_BYTES / 4 * 3);
        sent += channel->window; /* as fast as it may */
        say_data(program, channel->window);
    }
    ck_assert_uint_eq(channel->limit, LIMIT_WINDOW_BYTES);
    for (size_t more; (more = program_read(program->in, back, sizeof(back))) > 0; got += more) {
        program_turn(&rig, 0);
    }
    take_adjusts();
    ck_assert_uint_eq(got, sent);
    ck_assert_uint_eq(channel->pending.bytes, 0);
    ck_assert_uint_eq(rig.connection->pool.in_use, 0);
    grow(program);
    ck_assert_uint_eq(channel->limit, LIMIT_LARGEST_WINDOW_BYTES);
}

/* A near client's window stays small while another session shares the connection, or shrinks. */
TEST(near_windows_that_share)
{
    const struct channel *channel = &rig.connection->channels[0];
    program_run(&rig, program, REMOTE);
    program_run(&rig, &programs[1], REMOTE + 1);
    for (int i = 0; i < 20; i++) {
        move_a_step(program);
        take_adjusts();
    }
    ck_assert_uint_eq(channel->limit, LIMIT_NEAR_WINDOW_BYTES);
    grow(program);
    ck_assert_uint_eq(channel->limit, LIMIT_LARGEST_WINDOW_BYTES);
    for (int i = 0; i < 20; i++) {
        move_a_step(program);
        take_adjusts();
    }
    ck_assert_uint_eq(channel->limit, LIMIT_NEAR_WINDOW_BYTES);
    ck_assert_uint_ge(channel->window, LIMIT_NEAR_WINDOW_BYTES / 2);
}

/* 10 Mbit/s carry the first window in 52 ms. Half more, and what 0.1 s carry, are 3.4 of it. A
 * larger one would only wait in front of the link, and the other session's keystrokes behind it. */
TEST(windows_of_a_narrow_link_that_share)
{
    const struct channel *channel = &rig.connection->channels[0];
    program_run(&rig, program, REMOTE);
    move_windows(program, 20, 20, 1250);
    ck_assert_uint_gt(channel->limit, 700 * 1250);
    ck_assert_uint_lt(channel->limit, 1200 * 1250);
    program_run(&rig, &programs[1], REMOTE + 1);
    for (int i = 0; i < 20; i++) {
        move_windows(program, 3, 20, 1250);
        ck_assert_uint_le(channel->limit, 4 * LIMIT_WINDOW_BYTES);
        ck_assert_uint_ge(channel->window, channel->limit / 2);
    }
}

/* The queue of one upload is not taken for the delay of the other. */
TEST(windows_of_two_uploads)
{
    program_run(&rig, program, REMOTE);
    move_windows(program, 1, 20, 1250);
    program_run(&rig, &programs[1], REMOTE + 1);
    move_windows(&programs[1], 10, 20, 1250);
    for (int i = 0; i < 40; i++) {
        move_windows(&programs[1], 3, 20, 1250);
        ck_assert_uint_le(channel_of(program)->limit + channel_of(&programs[1])->limit,
                          8 * LIMIT_WINDOW_BYTES);
    }
}

/* In some seconds: a window is a small one while the delay is measured. */
static size_t largest_limit(size_t delay_ms)
{
    size_t largest = 0;
    for (int i = 0; i < 5; i++) {
        move_windows(program, 1, delay_ms, 12500);
        size_t limit = channel_of(program)->limit;
        largest = limit > largest ? limit : largest;
    }
    return largest;
}

/* On 100 Mbit/s, beside another session, the window never gets less than the link carries for long:
 * the delay is measured anew, wherever the path becomes longer. */
TEST(windows_of_a_path_that_becomes_longer)
{
    static const size_t delays_ms[] = {20, 55, 100, 120, 230, 300, 20};
    program_run(&rig, program, REMOTE);
    program_run(&rig, &programs[1], REMOTE + 1);
    for (size_t i = 0; i < sizeof(delays_ms) / sizeof(delays_ms[0]); i++) {
        move_windows(program, 25, delays_ms[i], 12500);
        ck_assert_uint_ge(largest_limit(delays_ms[i]), delays_ms[i] * 12500);
    }
    ck_assert_uint_lt(largest_limit(20), 200 * 12500);
}

/* A client that is as fast as a near one, and 8 ms away. */
TEST(windows_of_a_fast_link_that_share)
{
    program_run(&rig, program, REMOTE);
    program_run(&rig, &programs[1], REMOTE + 1);
    for (int i = 0; i < 8; i++) {
        move_windows(program, 1, 8, 117000);
        ck_assert_uint_ge(channel_of(program)->limit, 8 * 117000);
    }
}

TEST(near_windows_of_one_session)
{
    program_run(&rig, program, REMOTE);
    for (int i = 0; i < 20; i++) {
        move_a_step(program);
        take_adjusts();
    }
    ck_assert_uint_eq(channel_of(program)->limit, LIMIT_LARGEST_WINDOW_BYTES);
}

/* A window that grows first leaves less for the others, but never less than the first window. */
TEST(all_windows_together_are_bounded)
{
    for (uint32_t i = 0; i < LIMIT_CHANNELS; i++) {
        program_run(&rig, &programs[i], i);
    }
    size_t limits = 0;
    for (uint32_t i = 0; i < LIMIT_CHANNELS; i++) {
        grow(&programs[i]);
        limits += channel_of(&programs[i])->limit;
    }
    ck_assert_uint_eq(limits, LIMIT_WINDOWS_BYTES);
    ck_assert_uint_eq(channel_of(&programs[1])->limit, LIMIT_WINDOW_BYTES);
    for (uint32_t i = 0; i < LIMIT_CHANNELS; i++) {
        fill_stdin(&programs[i]);
        say_data(&programs[i], channel_of(&programs[i])->window);
    }
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    /* A channel that closes returns its share. */
    struct ipc_release release;
    program_close_all(program);
    rig_reply_done(&rig, IPC_RELEASE, 1);
    rig_say(&rig, SSH_MSG_CHANNEL_CLOSE, "u", program->channel);
    rig_request(&rig, IPC_RELEASE, &release, sizeof(release));
    program_drop_output(&rig);
    program_run(&rig, program, 0);
    grow(program);
    ck_assert_uint_eq(channel_of(program)->limit, LIMIT_LARGEST_WINDOW_BYTES);
}

/* ---- memory that is returned   --------------------------------------------------------------- */

static bool is_zero(const uint8_t *at, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (at[i] != 0) {
            return false;
        }
    }
    return true;
}

TEST(an_empty_pool_is_trimmed)
{
    struct pool *pool = &rig.connection->pool;
    program_run(&rig, program, REMOTE);
    fill_stdin(program);
    say_data(program, LIMIT_WINDOW_BYTES);
    ck_assert(!is_zero(pool->chunks[0], sizeof(pool->chunks[0])));
    /* Not while it is in use. */
    idle_trim(rig.connection);
    const uint8_t *front = pool->chunks[channel_of(program)->pending.first - 1];
    ck_assert_mem_eq(front + channel_of(program)->pending.start, bytes, 4096);
    program_close(&program->in);
    for (int i = 0; i < 3; i++) {
        program_turn(&rig, 0);
    }
    program_drop_output(&rig);
    ck_assert_uint_eq(pool->in_use, 0);
    ck_assert(idle_trim_due(rig.connection));
    idle_trim(rig.connection);
    ck_assert(!idle_trim_due(rig.connection));
    /* All whole pages of it. */
    ck_assert(is_zero(pool->chunks[0] + 4096, QUEUE_CHUNK_BYTES - 4096));
}

TEST(an_empty_output_is_trimmed)
{
    struct connection *connection = rig.connection;
    rig_say(&rig, SSH_MSG_PING, "s", "small");
    rig_hear(&rig, SSH_MSG_PONG);
    ck_assert(!idle_trim_due(connection));
    rig_say(&rig, SSH_MSG_PING, "d", bytes, (size_t)20000);
    ck_assert(!idle_trim_due(connection));
    idle_trim(connection);
    rig_expect(&rig, SSH_MSG_PONG, "d", bytes, (size_t)20000);
    ck_assert(idle_trim_due(connection));
    ck_assert(!is_zero(connection->buffers.output + 4096, 8000));
    idle_trim(connection);
    ck_assert(!idle_trim_due(connection));
    ck_assert(is_zero(connection->buffers.output + 4096, 8000));
    rig_say(&rig, SSH_MSG_PING, "s", "again");
    rig_expect(&rig, SSH_MSG_PONG, "s", "again");
}
