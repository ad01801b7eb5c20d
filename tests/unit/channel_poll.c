/*
 * With nothing to do poll() must wait instead of returning at once; several channels share the
 * output; and the windows add up after every step of a random walk.
 */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program.h"
#include "unit.h"

#define REMOTE 42

static struct rig rig;
static struct program programs[LIMIT_CHANNELS];
static struct program *const program = &programs[0];
static uint8_t bytes[200000];

static void start(void)
{
    signal(SIGPIPE, SIG_IGN);
    rig_open(&rig, SSH_PHASE_OPEN);
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        programs[i] = (struct program){.in = -1, .out = -1, .err = -1, .exit = -1, .slave = -1};
    }
}

static void finish(void)
{
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        program_close_all(&programs[i]);
    }
}

UNIT_FIXTURE(start, finish);
UNIT_TIMEOUT(60);

/* ---- poll() waits ---------------------------------------------------------------------------- */

enum { NO_ROOM, OUR_KEY_EXCHANGE, NO_WINDOW, NOT_BLOCKED, BLOCKS };

static void block_output(int how)
{
    if (how == NO_ROOM) {
        program_fill_output(&rig);
    } else if (how == OUR_KEY_EXCHANGE) {
        rig.connection->kex.sent = true;
    } else if (how == NO_WINDOW) {
        rig.connection->channels[program->channel].remote_window = 0;
    }
}

static void free_output(void)
{
    struct channel *channel = &rig.connection->channels[program->channel];
    program_drop_output(&rig);
    rig.connection->kex.sent = false;
    channel->remote_window = channel_is_open(channel) ? 1U << 30 : 0;
}

/* States that last, each with free and with blocked output. */
static void state_idle(void)
{
}

static void state_with_stdin_broken(void)
{
    program_close(&program->in);
}

static void state_with_stdin_broken_and_data(void)
{
    program_close(&program->in);
    rig_say(&rig, SSH_MSG_CHANNEL_DATA, "ud", program->channel, bytes, (size_t)1000);
}

static void state_with_stdin_full(void)
{
    int fd = rig.connection->channels[program->channel].child_stdin;
    while (write(fd, bytes, 4096) > 0) {
    }
    rig_say(&rig, SSH_MSG_CHANNEL_DATA, "ud", program->channel, bytes, (size_t)1000);
}

static void state_with_stdin_full_then_broken(void)
{
    state_with_stdin_full();
    program_turn(&rig, 0);
    program_close(&program->in);
}

static void state_after_eof(void)
{
    rig_say(&rig, SSH_MSG_CHANNEL_EOF, "u", program->channel);
}

static void state_with_stdout_closed(void)
{
    program_close(&program->out);
}

static void state_with_all_closed_but_exit(void)
{
    program_close(&program->in);
    program_close(&program->out);
    program_close(&program->err);
}

static void state_after_exit(void)
{
    program_exit(program, 0, 0, 0);
}

static void state_after_exit_without_stdin(void)
{
    program_exit(program, 0, 0, 0);
    program_close(&program->in);
}

static void state_when_all_is_over(void)
{
    program_exit(program, 0, 0, 0);
    program_close_all(program);
}

static void (*const states[])(void) = {
    state_idle,
    state_with_stdin_broken,
    state_with_stdin_broken_and_data,
    state_with_stdin_full,
    state_with_stdin_full_then_broken,
    state_after_eof,
    state_with_stdout_closed,
    state_with_all_closed_but_exit,
    state_after_exit,
    state_after_exit_without_stdin,
    state_when_all_is_over,
};

#define STATES (int)(sizeof(states) / sizeof(states[0]))

TEST_EACH(poll_waits_on_pipes, STATES *BLOCKS)
{
    program_run(&rig, program, REMOTE);
    block_output(_i % BLOCKS);
    states[_i / BLOCKS]();
    program_expect_idle(&rig);
    /* When the output is free again, what waited leaves, and then poll() waits again. */
    free_output();
    program_expect_idle(&rig);
    ck_assert(!rig.connection->end.reached);
}

/* The output is blocked later than the state begins. */
TEST_EACH(poll_waits_on_pipes_blocked_later, STATES *BLOCKS)
{
    program_run(&rig, program, REMOTE);
    states[_i / BLOCKS]();
    block_output(_i % BLOCKS);
    program_expect_idle(&rig);
}

static void terminal_hung_up(void)
{
    program_close(&program->slave);
}

static void terminal_hung_up_with_data(void)
{
    rig_say(&rig, SSH_MSG_CHANNEL_DATA, "ud", program->channel, bytes, (size_t)30000);
    program_close(&program->slave);
}

static void terminal_full(void)
{
    rig_say(&rig, SSH_MSG_CHANNEL_DATA, "ud", program->channel, bytes, (size_t)30000);
}

static void terminal_exited(void)
{
    program_exit(program, 0, 0, 0);
    program_close(&program->slave);
}

static void (*const terminal_states[])(void) = {
    state_idle,    terminal_hung_up, terminal_hung_up_with_data,
    terminal_full, terminal_exited,  state_after_eof,
};

#define TERMINAL_STATES (int)(sizeof(terminal_states) / sizeof(terminal_states[0]))

TEST_EACH(poll_waits_on_a_terminal, TERMINAL_STATES *BLOCKS)
{
    program_start_on_terminal(&rig, program, program_channel(&rig, REMOTE, 100000, 32768), REMOTE);
    block_output(_i % BLOCKS);
    terminal_states[_i / BLOCKS]();
    program_expect_idle(&rig);
    free_output();
    program_expect_idle(&rig);
    ck_assert(!rig.connection->end.reached);
}

TEST_EACH(poll_waits_with_output_that_may_not_leave, BLOCKS)
{
    program_run(&rig, program, REMOTE);
    block_output(_i);
    program_write(program->out, bytes, 5000);
    program_write(program->err, bytes, 5000);
    program_exit(program, 0, 0, 0);
    program_expect_idle(&rig);
    /* An exit needs room, but no window. */
    ck_assert_int_eq(rig.connection->channels[program->channel].output == OUTPUT_EXITED,
                     _i >= NO_WINDOW);
    free_output();
    program_expect_idle(&rig);
}

TEST(channels_without_a_program_ask_nothing)
{
    program_channel(&rig, 1, 100, 100);
    program_channel(&rig, 2, 100, 100);
    ck_assert_uint_eq(program_plan(&rig).entries, 0);
    program_run(&rig, program, REMOTE);
    ck_assert_uint_eq(program_plan(&rig).entries, CHANNEL_POLL_ENTRIES);
    program_expect_idle(&rig);
}

/* ---- a program that writes in small pieces --------------------------------------------------- */

static struct channel *channel(void)
{
    return &rig.connection->channels[program->channel];
}

static void write_pieces(int count)
{
    for (int i = 0; i < count; i++) {
        program_write(program->out, bytes, 4096);
    }
}

/* While the stream lasts poll() is not asked about it, but each turn reads it; when it ends poll()
 * waits for it again. */
TEST(a_stream_of_small_pieces)
{
    struct pollfd entries[CHANNEL_POLL_ENTRIES];
    program_run(&rig, program, REMOTE);
    channel()->stdout_widened = true; /* as it is in a bulk transfer */
    write_pieces(3);
    program_turn(&rig, 0);
    ck_assert(program_plan(&rig).coalesces);
    channel_poll_plan(rig.connection, entries);
    ck_assert_int_eq(entries[1].fd, -1);
    ck_assert_int_ge(entries[2].fd, 0);
    program_drop_output(&rig);
    write_pieces(2);
    ck_assert_int_eq(program_turn(&rig, 0), 0);
    ck_assert_uint_gt(rig.connection->output_end, 8192);
    ck_assert(program_plan(&rig).coalesces);
    program_turn(&rig, 0);
    ck_assert(!program_plan(&rig).coalesces);
    channel_poll_plan(rig.connection, entries);
    ck_assert_int_eq(entries[1].fd, channel()->child_stdout);
    program_expect_idle(&rig);
}

/* A blocked stream, by a key exchange too, does not make the loop run over and over. */
TEST_EACH(a_stream_that_is_blocked, NOT_BLOCKED)
{
    program_run(&rig, program, REMOTE);
    channel()->stdout_widened = true;
    write_pieces(2);
    program_turn(&rig, 0);
    ck_assert(program_plan(&rig).coalesces);
    block_output(_i);
    write_pieces(2);
    program_turn(&rig, 0);
    program_turn(&rig, 0);
    ck_assert(!program_plan(&rig).coalesces);
}

/* A few bytes are an answer that a person waits for; so is all output of a program that has written
 * little. */
TEST(small_answers_do_not_coalesce)
{
    program_run(&rig, program, REMOTE);
    write_pieces(2);
    program_turn(&rig, 0);
    ck_assert(!program_plan(&rig).coalesces);
    channel()->stdout_widened = true;
    program_write(program->out, bytes, 100);
    program_turn(&rig, 0);
    ck_assert(!program_plan(&rig).coalesces);
}

/* Its last bytes and its exit are read. */
TEST(a_stream_that_ends)
{
    program_run(&rig, program, REMOTE);
    channel()->stdout_widened = true;
    write_pieces(2);
    program_turn(&rig, 0);
    write_pieces(1);
    program_exit(program, 0, 0, 0);
    program_close_all(program);
    for (int i = 0; i < 4; i++) {
        program_turn(&rig, 0);
    }
    ck_assert_int_eq(channel()->output, OUTPUT_CLOSED);
    ck_assert_uint_eq(channel()->pace.in_flight, 3 * 4096);
    ck_assert(!program_plan(&rig).coalesces);
}

/* ---- a program that writes without end ------------------------------------------------------- */

/* Fills the pipe, and empties the output into which earlier bytes of it went. */
static void flood(void)
{
    while (write(program->out, bytes, sizeof(bytes)) > 0) {
    }
    program_turn(&rig, 0);
    program_drop_output(&rig);
}

/* poll() asks whether the socket has room, not about the program. */
static void expect_to_wait_for_the_socket(void)
{
    struct pollfd entries[CHANNEL_POLL_ENTRIES];
    channel_poll_plan(rig.connection, entries);
    ck_assert_int_eq(entries[1].fd, -1);
    ck_assert(program_plan(&rig).awaits_room);
}

static void turn_with_socket(bool has_room)
{
    struct pollfd entries[2 * CHANNEL_POLL_ENTRIES];
    size_t count = channel_poll_plan(rig.connection, entries).entries;
    ck_assert_int_ge(poll(entries, count, 0), 0);
    channel_poll_note(rig.connection, entries, has_room);
    channel_poll_turn(rig.connection);
}

TEST(a_flood_waits_for_the_socket)
{
    program_run(&rig, program, REMOTE);
    flood();
    flood();
    expect_to_wait_for_the_socket();
    turn_with_socket(false);
    ck_assert_uint_eq(rig.connection->output_end, 0);
    turn_with_socket(true);
    ck_assert_uint_gt(rig.connection->output_end, 2 * LIMIT_CHANNEL_PACKET_BYTES);
    program_drop_output(&rig);
    while (program_turn(&rig, 0) > 0) {
        program_drop_output(&rig);
    }
    ck_assert(!program_plan(&rig).awaits_room);
    program_expect_idle(&rig);
}

/* What the socket has not taken leaves before there is more, and nobody asks the socket for room
 * that must stay unused. */
TEST_EACH(a_flood_that_is_blocked, NOT_BLOCKED + 1)
{
    program_run(&rig, program, REMOTE);
    flood();
    flood();
    block_output(_i);
    rig.connection->socket.output_held = _i == NOT_BLOCKED;
    ck_assert(!program_plan(&rig).awaits_room);
    size_t before = rig.connection->output_end;
    turn_with_socket(true);
    ck_assert_uint_eq(rig.connection->output_end, before);
    rig.connection->socket.output_held = false;
    free_output();
    expect_to_wait_for_the_socket();
}

/* ---- several channels ------------------------------------------------------------------------ */

/* Each channel carries the bytes of its own program; one that is always full leaves the others
 * their turn. */
TEST(channels_share_the_output)
{
    for (uint32_t i = 0; i < LIMIT_CHANNELS; i++) {
        program_run(&rig, &programs[i], 100 + i);
    }
    bool heard[LIMIT_CHANNELS] = {false};
    for (int round = 0; round < 60; round++) {
        for (uint32_t i = 0; i < LIMIT_CHANNELS; i++) {
            memset(bytes, (int)i, 65536);
            (void)!write(programs[i].out, bytes, 65536);
        }
        program_turn(&rig, 0);
        while (rig.connection->output_start < rig.connection->output_end) {
            struct reader message = rig_hear(&rig, SSH_MSG_CHANNEL_DATA);
            uint32_t number = reader_u32(&message) - 100;
            struct reader data = reader_string(&message);
            ck_assert(number < LIMIT_CHANNELS && data.left > 0);
            ck_assert_uint_eq(data.bytes[0], number);
            ck_assert_uint_eq(data.bytes[data.left - 1], number);
            heard[number] = true;
        }
    }
    for (size_t i = 0; i < LIMIT_CHANNELS; i++) {
        ck_assert_msg(heard[i], "channel %zu never had its turn", i);
    }
}

/* One program writes without end, the other a word now and then: the word leaves first, whatever
 * the channels' order, and still finds room when bulk data has none. */
TEST_EACH(a_word_goes_before_a_stream, 2)
{
    struct program *const bulk = &programs[_i], *const other = &programs[1 - _i];
    program_run(&rig, &programs[0], 100);
    program_run(&rig, &programs[1], 101);
    for (int round = 0; round < 40; round++) {
        (void)!write(bulk->out, bytes, 65536);
        program_turn(&rig, 0);
        program_drop_output(&rig);
    }
    ck_assert(rig.connection->channels[bulk->channel].flow != FLOW_QUIET);
    for (int round = 0; round < 5; round++) {
        (void)!write(bulk->out, bytes, 65536);
        program_write(other->out, "word", 4);
        program_turn(&rig, 0);
        rig_expect(&rig, SSH_MSG_CHANNEL_DATA, "us", other->remote, "word");
        program_drop_output(&rig);
    }
    for (int round = 0; round < 20; round++) {
        (void)!write(bulk->out, bytes, 65536);
        program_turn(&rig, 0);
    }
    size_t full = rig.connection->output_end;
    program_write(other->out, "word", 4);
    program_turn(&rig, 0);
    ck_assert_uint_gt(rig.connection->output_end, full);
}

enum { ALONE, TYPED_NOW, TYPED_LONG_AGO, TYPED_ITSELF, TYPED_TO_A_STREAM, DIALOGUES };

/* Right after a keystroke in another session a stream takes one packet of each turn, so that its
 * echo waits for less. Small requests to a stream, as an SFTP client sends them, are no keystrokes.
 */
TEST_EACH(a_stream_beside_a_dialogue, DIALOGUES)
{
    program_run(&rig, program, REMOTE);
    rig.connection->now_ms = 100000;
    if (_i != ALONE) {
        const struct program *typed = _i == TYPED_ITSELF ? program : &programs[1];
        program_run(&rig, &programs[1], REMOTE + 1);
        rig_say(&rig, SSH_MSG_CHANNEL_DATA, "us", typed->channel, "x");
        rig.connection->channels[programs[1].channel].flow =
            _i == TYPED_TO_A_STREAM ? FLOW_BULK : FLOW_QUIET;
    }
    rig.connection->now_ms += _i == TYPED_LONG_AGO ? 20000 : 500;
    while (write(program->out, bytes, sizeof(bytes)) > 0) {
    }
    program_drop_output(&rig);
    turn_with_socket(true);
    if (_i == TYPED_NOW) {
        ck_assert_uint_lt(rig.connection->output_end, 2 * LIMIT_CHANNEL_PACKET_BYTES);
    } else {
        ck_assert_uint_gt(rig.connection->output_end, 2 * LIMIT_CHANNEL_PACKET_BYTES - 4096);
    }
}

/* ---- a random walk --------------------------------------------------------------------------- */

static uint64_t walk_state;

static size_t some(size_t below)
{
    walk_state = walk_state * 6364136223846793005U + 1442695040888963407U;
    return (size_t)(walk_state >> 33) % below;
}

/* A message that the client may send on one channel. */
static void step_of_client(struct program *one)
{
    struct channel *channel = &rig.connection->channels[one->channel];
    size_t count = some(LIMIT_CHANNEL_PACKET_BYTES + 1);
    count = count < channel->window ? count : channel->window;
    switch (some(8)) {
    case 0:
        rig_say(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", one->channel, (uint32_t)some(5000));
        break;
    case 1:
        if (!channel_input_has_eof(channel->input)) {
            rig_say(&rig, SSH_MSG_CHANNEL_EXTENDED_DATA, "uud", one->channel, 1, bytes, count);
        }
        break;
    case 2:
        if (some(40) == 0) {
            rig_say(&rig, SSH_MSG_CHANNEL_EOF, "u", one->channel);
        }
        break;
    default:
        if (!channel_input_has_eof(channel->input)) {
            rig_say(&rig, SSH_MSG_CHANNEL_DATA, "ud", one->channel, bytes, count);
        }
    }
}

static void step_of_program(struct program *one)
{
    switch (some(7)) {
    case 0:
        if (one->out >= 0) {
            (void)!write(one->out, bytes, some(70000));
        }
        break;
    case 1:
        if (some(30) == 0) {
            program_close(some(2) == 0 ? &one->out : &one->in);
        }
        break;
    case 2:
        if (some(60) == 0 && one->exit >= 0) {
            program_exit(one, 0, 0, 0);
            program_close_all(one);
        }
        break;
    default:
        if (one->in >= 0) {
            static uint8_t back[100000];
            program_read(one->in, back, some(sizeof(back)));
        }
    }
}

static void open_again(struct program *one, uint32_t remote)
{
    const struct channel *channel = &rig.connection->channels[one->channel];
    if (channel->output == OUTPUT_CLOSED) {
        struct ipc_release release;
        program_close_all(one);
        rig_reply_done(&rig, IPC_RELEASE, 1);
        rig_say(&rig, SSH_MSG_CHANNEL_CLOSE, "u", one->channel);
        rig_request(&rig, IPC_RELEASE, &release, sizeof(release));
        program_drop_output(&rig);
        program_run(&rig, one, remote);
    }
}

TEST_EACH(the_windows_add_up, 4)
{
    walk_state = (unsigned long)_i + 1;
    for (uint32_t i = 0; i < 3; i++) {
        program_run(&rig, &programs[i], i);
    }
    for (int step = 0; step < 3000; step++) {
        uint32_t number = (uint32_t)some(3);
        if (some(2) == 0) {
            step_of_client(&programs[number]);
        } else {
            step_of_program(&programs[number]);
        }
        program_check_windows(&rig);
        program_turn(&rig, 0);
        ck_assert_msg(!rig.connection->end.reached, "%s", rig.connection->end.reason);
        if (some(10) == 0) {
            program_drop_output(&rig);
        }
        if (output_room(rig.connection) < LIMIT_REPLY_BYTES) {
            program_drop_output(&rig);
        }
        open_again(&programs[number], number);
    }
}
