/*
 * Bytes between channels and programs, in both directions. The end of a program is in
 * channel_exit.c; what poll() waits for, and a random walk over the windows, in channel_poll.c.
 */
#include "channel_streams.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "data_rig.h"

/* ---- program to client ----------------------------------------------------------------------- */

UNIT_FIXTURE(start, finish);
UNIT_TIMEOUT(60);

TEST(output_and_errors)
{
    program_run(&rig, &program, REMOTE);
    rig.connection->now_ms = 99;
    program_write(program.out, "hello", 5);
    program_write(program.err, "oh no", 5);
    turns(1);
    rig_expect(&rig, SSH_MSG_CHANNEL_DATA, "us", REMOTE, "hello");
    rig_expect(&rig, SSH_MSG_CHANNEL_EXTENDED_DATA, "uus", REMOTE, SSH_EXTENDED_DATA_STDERR,
               "oh no");
    rig_expect_silence(&rig);
    ck_assert_uint_eq(rig.connection->times.used_ms, 99);
}

TEST(nothing_after_a_disconnect)
{
    program_run(&rig, &program, REMOTE);
    program_write(program.out, "late", 4);
    connection_refuse(rig.connection, SSH_DISCONNECT_PROTOCOL_ERROR, "enough");
    turns(2);
    rig_hear(&rig, SSH_MSG_DISCONNECT);
    rig_expect_silence(&rig);
}

TEST(small_windows_and_packets)
{
    program_start(&rig, &program, program_channel(&rig, REMOTE, 10, 32), REMOTE);
    program_write(program.out, bytes, 1000);
    turns(3);
    ck_assert_uint_eq(hear_data(0, 10), 10);
    rig_expect_silence(&rig);
    size_t sent = 10;
    for (uint32_t more = 1; sent < 1000; more += 13) {
        rig_say(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", program.channel, more);
        size_t before = sent;
        turns(20);
        while (!is_silent()) {
            sent += hear_data(sent, 32);
        }
        ck_assert_uint_eq(sent, before + more < 1000 ? before + more : 1000);
        program_check_windows(&rig);
    }
}

/* Through large windows every byte arrives in order, and no packet is too large. */
TEST(a_stream_without_end)
{
    program_run(&rig, &program, REMOTE);
    size_t written = 0, heard = 0;
    while (heard < sizeof(bytes)) {
        size_t left = sizeof(bytes) - written;
        ssize_t count = left > 0 ? write(program.out, bytes + written, left) : 0;
        written += count > 0 ? (size_t)count : 0;
        turns(1);
        while (!is_silent()) {
            heard += hear_data(heard, LIMIT_CHANNEL_PACKET_BYTES);
        }
    }
}

/* The second program has made its pipe larger itself. */
TEST_EACH(pipes_are_widened_but_never_narrowed, 2)
{
    static const int sizes[] = {LIMIT_FIRST_PIPE_BYTES, 2 * LIMIT_PIPE_BYTES};
    program_run(&rig, &program, REMOTE);
    if (fcntl(program.out, F_SETPIPE_SZ, sizes[1]) != sizes[1]) {
        return; /* the user has too many wide pipes already */
    }
    ck_assert_int_eq(fcntl(program.out, F_SETPIPE_SZ, sizes[_i]), sizes[_i]);
    program_write(program.out, bytes, LIMIT_FIRST_PIPE_BYTES);
    turns(1);
    ck_assert(channel()->stdout_widened);
    ck_assert_int_eq(fcntl(program.out, F_GETPIPE_SZ), _i == 0 ? LIMIT_PIPE_BYTES : sizes[_i]);
}

/* The client reads nothing: output stops with room for answers left, and goes on later. */
TEST(output_stops_while_there_is_room_for_answers)
{
    program_run(&rig, &program, REMOTE);
    for (int i = 0; i < 20; i++) {
        (void)!write(program.out, bytes, 65536);
        turns(1);
        ck_assert_uint_ge(output_room(rig.connection), LIMIT_REPLY_BYTES);
    }
    ck_assert_uint_lt(output_room(rig.connection), 3 * LIMIT_REPLY_BYTES);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    program_drop_output(&rig);
    turns(1);
    ck_assert(!is_silent());
}

/* The first channel fills the output; the turn of a channel without a program is not lost. */
TEST(two_streams_have_the_same_share)
{
    static struct program other;
    program_run(&rig, &program, REMOTE);
    program_run(&rig, &other, REMOTE + 1);
    for (int i = 0; i < 40; i++) {
        (void)!write(program.out, bytes, sizeof(bytes));
        (void)!write(other.out, bytes, sizeof(bytes));
        turns(1);
        program_drop_output(&rig);
    }
    uint32_t one = (1U << 30) - channel()->remote_window;
    uint32_t two = (1U << 30) - rig.connection->channels[other.channel].remote_window;
    ck_assert_uint_gt(one, 2 * (two / 3));
    ck_assert_uint_gt(two, 2 * (one / 3));
    program_close_all(&other);
}

TEST(nothing_leaves_during_our_key_exchange)
{
    program_run(&rig, &program, REMOTE);
    rig.connection->kex.sent = true;
    program_write(program.out, "later", 5);
    program_write(program.err, "later", 5);
    program_exit(&program, 0, 0, 0);
    program_close(&program.in);
    turns(3);
    rig_expect_silence(&rig);
    ck_assert_uint_eq(rig.connection->deferred_bytes, 0);
    rig.connection->kex.sent = false;
    turns(1);
    rig_expect(&rig, SSH_MSG_CHANNEL_DATA, "us", REMOTE, "later");
}

/* ---- client to program ----------------------------------------------------------------------- */

TEST(data_typed_ahead_waits_for_the_program)
{
    program.channel = program_channel(&rig, REMOTE, 1000, 1000);
    say_data(0, 3000);
    program_start(&rig, &program, 0, REMOTE);
    turns(1);
    ck_assert_uint_eq(program_read(program.in, back, sizeof(back)), 3000);
    ck_assert_mem_eq(back, bytes, 3000);
    say_data(3000, 10);
    ck_assert_uint_eq(program_read(program.in, back, sizeof(back)), 10);
    ck_assert_mem_eq(back, bytes + 3000, 10);
}

static size_t take_adjusts(void)
{
    size_t sum = 0;
    while (!is_silent()) {
        struct reader message = rig_hear(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST);
        ck_assert_uint_eq(reader_u32(&message), REMOTE);
        uint32_t more = reader_u32(&message);
        ck_assert(reader_end(&message) && more > 0);
        sum += more;
    }
    return sum;
}

/* Data that a program does not read is kept in order, and limits what the client may send. */
TEST(a_program_that_does_not_read)
{
    program_run(&rig, &program, REMOTE);
    size_t said = 0;
    size_t allowed = LIMIT_WINDOW_BYTES;
    while (allowed > 0) {
        size_t count = allowed < 5000 ? allowed : 5000;
        say_data(said, count);
        said += count;
        allowed -= count;
        turns(1);
        allowed += take_adjusts();
    }
    ck_assert_uint_ge(said, LIMIT_WINDOW_BYTES);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    size_t got = 0;
    for (int i = 0; i < 1000 && got < said; i++) {
        got += program_read(program.in, back + got, 777);
        turns(1);
    }
    ck_assert_uint_eq(got, said);
    ck_assert_mem_eq(back, bytes, said);
    ck_assert_uint_gt(take_adjusts(), 0);
    ck_assert_uint_eq(channel()->pending.bytes, 0);
}

/* A program that reads in small steps: queued data stays in order. */
TEST(a_program_that_reads_slowly)
{
    program_run(&rig, &program, REMOTE);
    size_t said = 0, got = 0, allowed = LIMIT_WINDOW_BYTES;
    for (size_t step = 0; got < sizeof(bytes); step++) {
        size_t count = 3000 + step % 7 * 1000;
        count = count < allowed ? count : allowed;
        count = count < sizeof(bytes) - said ? count : sizeof(bytes) - said;
        say_data(said, count);
        said += count;
        allowed -= count;
        got += said > 120000 ? program_read(program.in, back + got, 1 + step % 5 * 1000) : 0;
        turns(1);
        allowed += take_adjusts();
        if (said <= 120000 && allowed == 0) {
            got += program_read(program.in, back + got, 5000);
        }
    }
    ck_assert_mem_eq(back, bytes, sizeof(bytes));
}

TEST(eof_closes_stdin_after_the_last_byte)
{
    program_run(&rig, &program, REMOTE);
    for (size_t i = 0; i < 14; i++) {
        say_data(i * 4096 + i, 4097);
    }
    while (channel()->pending.bytes == 0) {
        /* The pipe may have taken it all: then fill it. */
        (void)!write(channel()->child_stdin, bytes, 1000);
        say_data(0, 1);
    }
    rig_say(&rig, SSH_MSG_CHANNEL_EOF, "u", program.channel);
    turns(3);
    ck_assert_int_ge(channel()->child_stdin, 0);
    uint8_t byte;
    while (program_read(program.in, back, sizeof(back)) > 0) {
        turns(2);
    }
    ck_assert_int_eq(read(program.in, &byte, 1), 0);
    ck_assert_int_eq(channel()->child_stdin, -1);
    take_adjusts();
    program_write(program.out, "sorted", 6);
    turns(1);
    rig_expect(&rig, SSH_MSG_CHANNEL_DATA, "us", REMOTE, "sorted");
}

TEST_EACH(eof_before_the_program, 2)
{
    program.channel = program_channel(&rig, REMOTE, 1000, 1000);
    size_t ahead = (size_t)_i;
    say_data(0, ahead);
    rig_say(&rig, SSH_MSG_CHANNEL_EOF, "u", program.channel);
    program_start(&rig, &program, 0, REMOTE);
    turns(1);
    uint8_t byte;
    ck_assert_uint_eq(program_read(program.in, back, ahead), ahead);
    ck_assert_int_eq(read(program.in, &byte, 1), 0);
}

static void client_is(const char *version)
{
    strcpy(rig.connection->client_version, version);
    rig.connection->client_version_bytes = strlen(version);
}

/* eow@openssh.com once; later data is discarded and its window returned; output goes on. */
TEST_EACH(a_program_that_closes_its_stdin, 2)
{
    client_is("SSH-2.0-OpenSSH_9.2p1");
    program_run(&rig, &program, REMOTE);
    program_close(&program.in);
    if (_i == 1) {
        say_data(0, 10); /* writing reports it, not poll() */
        turns(1);
    } else {
        turns(1);
    }
    rig_expect(&rig, SSH_MSG_CHANNEL_REQUEST, "usb", REMOTE, "eow@openssh.com", 0);
    rig_expect_silence(&rig);
    for (int i = 0; i < 20; i++) {
        say_data(0, 20000);
        turns(1);
        ck_assert(!rig.connection->end.reached);
        take_adjusts();
    }
    program_write(program.out, "on", 2);
    turns(1);
    rig_expect(&rig, SSH_MSG_CHANNEL_DATA, "us", REMOTE, "on");
    rig_expect_silence(&rig);
}

/* sshj answers requests that it does not know, though they want no reply. */
TEST(no_eow_to_other_clients)
{
    client_is("SSH-2.0-SSHJ_0.38.0");
    program_run(&rig, &program, REMOTE);
    program_close(&program.in);
    say_data(0, 10);
    turns(2);
    ck_assert_int_eq(channel()->child_stdin, -1);
    rig_expect_silence(&rig);
    program_write(program.out, "on", 2);
    turns(1);
    rig_expect(&rig, SSH_MSG_CHANNEL_DATA, "us", REMOTE, "on");
    rig_expect_silence(&rig);
}

TEST(no_eow_after_the_clients_eof)
{
    client_is("SSH-2.0-OpenSSH_9.2p1");
    program_run(&rig, &program, REMOTE);
    /* The pipe is full, so that EOF must wait; then the program closes it. */
    while (write(channel()->child_stdin, bytes, 4096) > 0) {
    }
    say_data(0, 100);
    rig_say(&rig, SSH_MSG_CHANNEL_EOF, "u", program.channel);
    program_close(&program.in);
    turns(2);
    ck_assert_int_eq(channel()->child_stdin, -1);
    rig_expect_silence(&rig);
}
