/*
 * Data of several packets goes to a program in one call, in order, and before any other message of
 * its channel takes effect. Longer transfers are in channel_stdout.c.
 */
#include "channel_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "net.h"
#include "program.h"
#include "unit.h"

static struct rig rig;
static struct program one, other;
static uint8_t bytes[LIMIT_WINDOW_BYTES], back[2 * LIMIT_WINDOW_BYTES];

static void start(void)
{
    signal(SIGPIPE, SIG_IGN);
    rig_open(&rig, SSH_PHASE_OPEN);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(i * 13 + i / 251);
    }
    program_run(&rig, &one, 1);
    program_run(&rig, &other, 2);
}

static void finish(void)
{
    program_close_all(&one);
    program_close_all(&other);
}

UNIT_FIXTURE(start, finish);
UNIT_TIMEOUT(60);

static struct channel *channel_of(const struct program *program)
{
    return &rig.connection->channels[program->channel];
}

/* Data of one packet among several, as channel_on_data() hands it over. */
static void data(const struct program *program, size_t from, size_t count)
{
    channel_of(program)->window -= (uint32_t)count;
    channel_stdin_add(rig.connection, channel_of(program), bytes + from, count);
}

static size_t waiting(const struct program *program)
{
    int count = 0;
    ck_assert_int_eq(ioctl(program->in, FIONREAD, &count), 0);
    return (size_t)count;
}

TEST(several_packets_in_one_call)
{
    data(&one, 0, 1000);
    data(&one, 1000, 2000);
    data(&one, 3000, 0);
    data(&one, 3000, 1);
    ck_assert_uint_eq(waiting(&one), 0);
    channel_stdin_finish_batch(rig.connection);
    ck_assert_uint_eq(program_read(one.in, back, sizeof(back)), 3001);
    ck_assert_mem_eq(back, bytes, 3001);
    ck_assert_uint_eq(channel_of(&one)->consumed, 3001);
    program_check_windows(&rig);
    channel_stdin_finish_batch(rig.connection);
    ck_assert_uint_eq(waiting(&one), 0);
}

TEST(more_packets_than_a_call_takes)
{
    for (size_t i = 0; i < 3 * STDIN_BATCH_PARTS + 1; i++) {
        data(&one, i, 1);
    }
    ck_assert_uint_eq(waiting(&one), 3 * STDIN_BATCH_PARTS);
    channel_stdin_finish_batch(rig.connection);
    ck_assert_uint_eq(program_read(one.in, back, sizeof(back)), 3 * STDIN_BATCH_PARTS + 1);
    ck_assert_mem_eq(back, bytes, 3 * STDIN_BATCH_PARTS + 1);
}

TEST(each_program_has_its_own)
{
    data(&one, 0, 10);
    data(&other, 100, 20);
    ck_assert_uint_eq(waiting(&one), 10);
    data(&one, 10, 30);
    ck_assert_uint_eq(waiting(&other), 20);
    channel_stdin_finish_batch(rig.connection);
    ck_assert_uint_eq(program_read(one.in, back, sizeof(back)), 40);
    ck_assert_mem_eq(back, bytes, 40);
    ck_assert_uint_eq(program_read(other.in, back, sizeof(back)), 20);
    ck_assert_mem_eq(back, bytes + 100, 20);
}

/* A message among several: without the flush at the end of the input. */
static void hear_of(const struct program *program, int number)
{
    uint8_t payload[5] = {(uint8_t)number, 0, 0, 0, (uint8_t)program->channel};
    dispatch(rig.connection, payload, sizeof(payload), rig.sequence++);
}

TEST(data_is_ahead_of_eof)
{
    uint8_t byte;
    data(&one, 0, 3000);
    hear_of(&one, SSH_MSG_CHANNEL_EOF);
    ck_assert_uint_eq(program_read(one.in, back, 3000), 3000);
    ck_assert_int_eq(read(one.in, &byte, 1), 0);
    ck_assert_ptr_null(rig.connection->stdin_batch.channel);
}

TEST(data_is_ahead_of_close)
{
    data(&one, 0, 3000);
    rig_reply_done(&rig, IPC_RELEASE, 1);
    hear_of(&one, SSH_MSG_CHANNEL_CLOSE);
    ck_assert_uint_eq(program_read(one.in, back, sizeof(back)), 3000);
    channel_stdin_finish_batch(rig.connection);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
}

/* A full pipe takes more once it is larger; the rest is queued, and arrives in order. */
TEST(a_pipe_is_widened_once)
{
    struct channel *channel = channel_of(&one);
    channel->stdin_bytes = LIMIT_FIRST_PIPE_BYTES + 1;
    int before = fcntl(one.in, F_GETPIPE_SZ);
    size_t filled = 0;
    for (ssize_t count; (count = write(channel->child_stdin, bytes, 4096)) > 0;) {
        filled += (size_t)count;
    }
    data(&one, 0, 30000);
    data(&one, 30000, 30000);
    channel_stdin_finish_batch(rig.connection);
    int widened = fcntl(one.in, F_GETPIPE_SZ);
    if (widened == before) { /* the user has too many wide pipes already */
        ck_assert_uint_eq(channel->pending.bytes, 60000);
    } else {
        ck_assert_int_eq(widened, LIMIT_PIPE_BYTES);
        ck_assert_uint_eq(channel->pending.bytes, 0);
    }
    ck_assert(channel->stdin_widened);
    for (size_t left = filled; left > 0;) {
        left -= program_read(one.in, back, left < sizeof(back) ? left : sizeof(back));
    }
    program_turn(&rig, 0);
    ck_assert_uint_eq(program_read(one.in, back, sizeof(back)), 60000);
    ck_assert_mem_eq(back, bytes, 60000);
    program_check_windows(&rig);
    /* The second time it is not made larger. */
    ck_assert_int_gt(fcntl(one.in, F_SETPIPE_SZ, before), 0);
    while (write(channel->child_stdin, bytes, 4096) > 0) {
    }
    data(&one, 0, 1000);
    channel_stdin_finish_batch(rig.connection);
    ck_assert_int_eq(fcntl(one.in, F_GETPIPE_SZ), before);
    ck_assert_uint_eq(channel->pending.bytes, 1000);
}

/* A program that has read nothing may never read. */
TEST(a_pipe_is_not_widened_before_the_program_reads)
{
    const struct channel *channel = channel_of(&one);
    int before = fcntl(one.in, F_GETPIPE_SZ);
    data(&one, 0, LIMIT_WINDOW_BYTES);
    channel_stdin_finish_batch(rig.connection);
    while (write(channel->child_stdin, bytes, 1) > 0) {
    }
    channel_of(&one)->window += LIMIT_WINDOW_BYTES; /* as if it had read */
    data(&one, 0, 1000);
    channel_stdin_finish_batch(rig.connection);
    ck_assert_int_eq(fcntl(one.in, F_GETPIPE_SZ), before);
    ck_assert_uint_eq(channel->pending.bytes, 1000);
}

/* Queued data goes first, even if the pipe has room again before poll() has reported it. */
TEST(nothing_overtakes_queued_data)
{
    const struct channel *channel = channel_of(&one);
    channel_of(&one)->stdin_widened = true;
    while (write(channel->child_stdin, bytes, 4096) > 0) {
    }
    data(&one, 0, 100);
    channel_stdin_finish_batch(rig.connection);
    ck_assert_uint_eq(channel->pending.bytes, 100);
    while (program_read(one.in, back, sizeof(back)) > 0) {
    }
    data(&one, 100, 200);
    channel_stdin_finish_batch(rig.connection);
    ck_assert_uint_eq(channel->pending.bytes, 300);
    program_turn(&rig, 0);
    ck_assert_uint_eq(program_read(one.in, back, sizeof(back)), 300);
    ck_assert_mem_eq(back, bytes, 300);
}

/* More than one chunk of the pool is queued: one turn writes as much as the pipe takes. */
TEST(all_queued_data_goes_out_at_once)
{
    const struct channel *channel = channel_of(&one);
    while (write(channel->child_stdin, bytes, 4096) > 0) {
    }
    channel_of(&one)->stdin_widened = true;
    data(&one, 0, 32000);
    data(&one, 32000, 30000);
    channel_stdin_finish_batch(rig.connection);
    ck_assert_uint_eq(channel->pending.bytes, 62000);
    while (program_read(one.in, back, sizeof(back)) > 0) {
    }
    program_turn(&rig, 0);
    ck_assert_uint_eq(channel->pending.bytes, 0);
    ck_assert_uint_eq(program_read(one.in, back, sizeof(back)), 62000);
    ck_assert_mem_eq(back, bytes, 62000);
}

TEST(data_that_a_program_takes_later_is_use)
{
    const struct channel *channel = channel_of(&one);
    channel_of(&one)->stdin_widened = true;
    while (write(channel->child_stdin, bytes, 4096) > 0) {
    }
    data(&one, 0, 100);
    channel_stdin_finish_batch(rig.connection);
    rig.connection->now_ms = 99;
    program_turn(&rig, 0);
    ck_assert_uint_ne(rig.connection->times.used_ms, 99);
    while (program_read(one.in, back, sizeof(back)) > 0) {
    }
    program_turn(&rig, 0);
    ck_assert_uint_eq(rig.connection->times.used_ms, 99);
}

/* A program that can't write its output may wait for a message: the socket must be read. */
TEST(the_client_is_held_up_only_for_a_slow_program)
{
    struct connection *connection = rig.connection;
    struct channel *channel = channel_of(&one);
    while (channel->pending.bytes < LIMIT_PENDING_BYTES) {
        queue_add(&connection->pool, &channel->pending, bytes, 1024);
    }
    connection->times.read_ms = 7;
    ck_assert_uint_eq(channel_stdin_pause_until_ms(connection), 0);
    channel_of(&other)->output = OUTPUT_FREE;
    ck_assert_uint_eq(channel_stdin_pause_until_ms(connection), 7 + LIMIT_HOLD_MS);
    channel->remote_window = 0;
    ck_assert_uint_eq(channel_stdin_pause_until_ms(connection), 0);
    channel->remote_window = 1;
    connection->kex.sent = true;
    ck_assert_uint_eq(channel_stdin_pause_until_ms(connection), 0);
    connection->kex.sent = false;
    queue_drop(&connection->pool, &channel->pending, 1);
    ck_assert_uint_eq(channel_stdin_pause_until_ms(connection), 0);
}

TEST(a_program_that_has_closed_its_stdin)
{
    program_close(&one.in);
    data(&one, 0, 1000);
    data(&one, 1000, 1000);
    channel_stdin_finish_batch(rig.connection);
    ck_assert_int_eq(channel_of(&one)->input, INPUT_BROKEN);
    data(&one, 2000, 1000);
    channel_stdin_finish_batch(rig.connection);
    program_turn(&rig, 0);
    program_check_windows(&rig);
    ck_assert_uint_eq(channel_of(&one)->consumed, 3000);
    ck_assert_uint_eq(rig.connection->pool.in_use, 0);
}

/* The pipe of `one` is full, and its client has sent 3000 bytes more. */
static struct channel *hold(void)
{
    struct channel *channel = channel_of(&one);
    channel->stdin_widened = true;
    while (write(channel->child_stdin, bytes, 4096) > 0) {
    }
    data(&one, 0, 1000);
    data(&one, 1000, 2000);
    channel_stdin_write_batch(rig.connection);
    ck_assert_uint_eq(channel_waiting_bytes(rig.connection, channel), 3000);
    program_check_windows(&rig);
    return channel;
}

static void read_held(void)
{
    while (program_read(one.in, back, sizeof(back)) == sizeof(back)) {
    }
    program_turn(&rig, 0);
    ck_assert_uint_eq(program_read(one.in, back, sizeof(back)), 3000);
    ck_assert_mem_eq(back, bytes, 3000);
    ck_assert_ptr_null(rig.connection->stdin_batch.channel);
}

/* What a program does not take is not copied until the input buffer is needed. */
TEST(data_waits_where_it_was_decrypted)
{
    const struct channel *channel = hold();
    program_turn(&rig, 0);
    ck_assert_uint_eq(rig.connection->pool.touched, 0);
    read_held();
    ck_assert_uint_eq(channel->consumed, 3000);
    ck_assert_uint_eq(rig.connection->pool.touched, 0);
}

TEST(data_is_copied_before_the_buffer_is_used_again)
{
    const struct channel *channel = hold();
    channel_stdin_finish_batch(rig.connection);
    ck_assert_uint_eq(channel->pending.bytes, 3000);
    read_held();
}

TEST(the_end_waits_for_data_that_is_held)
{
    const struct channel *channel = hold();
    uint8_t byte;
    hear_of(&one, SSH_MSG_CHANNEL_EOF);
    ck_assert_int_ge(channel->child_stdin, 0);
    read_held();
    ck_assert_int_eq(read(one.in, &byte, 1), 0);
}

TEST(data_that_is_held_is_dropped_with_its_program)
{
    const struct channel *channel = hold();
    program_close(&one.in);
    program_turn(&rig, 0);
    ck_assert_int_eq(channel->child_stdin, -1);
    ck_assert_ptr_null(rig.connection->stdin_batch.channel);
    ck_assert_uint_eq(channel->consumed, 3000);
    channel_stdin_finish_batch(rig.connection);
    ck_assert_uint_eq(rig.connection->pool.in_use, 0);
}
