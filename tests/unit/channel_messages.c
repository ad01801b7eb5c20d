/* The client's messages, and with them channel.c: which channel is meant, opening and reuse. */
#include "channels.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net.h"
#include "program.h"
#include "unit.h"

static struct rig rig;
static uint8_t bytes[LIMIT_WINDOW_BYTES + 1];

static void start(void)
{
    rig_open(&rig, SSH_PHASE_OPEN);
    memset(bytes, 'x', sizeof(bytes));
}

UNIT_FIXTURE(start, NULL);
UNIT_TIMEOUT(60);

static struct channel *channel_of(uint32_t number)
{
    return &rig.connection->channels[number];
}

/* ---- global requests ------------------------------------------------------------------------- */

TEST(global_requests)
{
    static const char *const types[] = {"keepalive@openssh.com", "tcpip-forward", "",
                                        "cancel-tcpip-forward", "hostkeys-prove-00@openssh.com"};
    rig_reply_done(&rig, IPC_NOTE, 1); /* of channel_note_forwarding() */
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        rig_say(&rig, SSH_MSG_GLOBAL_REQUEST, "sbs", types[i], 1, "more");
        rig_expect(&rig, SSH_MSG_REQUEST_FAILURE, "");
        rig_say(&rig, SSH_MSG_GLOBAL_REQUEST, "sb", types[i], 0);
        rig_expect_silence(&rig);
    }
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
}

TEST_EACH(no_more_sessions, 2)
{
    rig_say(&rig, SSH_MSG_GLOBAL_REQUEST, "sb", "no-more-sessions@openssh.com", _i);
    if (_i == 1) {
        rig_expect(&rig, SSH_MSG_REQUEST_SUCCESS, "");
    }
    rig_say(&rig, SSH_MSG_CHANNEL_OPEN, "suuu", "session", 5, 1000, 1000);
    struct reader answer = rig_hear(&rig, SSH_MSG_CHANNEL_OPEN_FAILURE);
    ck_assert_uint_eq(reader_u32(&answer), 5);
    ck_assert_uint_eq(reader_u32(&answer), SSH_OPEN_ADMINISTRATIVELY_PROHIBITED);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
}

/* ---- opening --------------------------------------------------------------------------------- */

TEST(as_many_as_there_are)
{
    for (uint32_t i = 0; i < LIMIT_CHANNELS; i++) {
        ck_assert_uint_eq(program_channel(&rig, 1000 + i, 7 * i, 32 + i), i);
        ck_assert_uint_eq(channel_of(i)->remote_window, 7 * i);
        ck_assert_uint_eq(channel_of(i)->remote_packet, 32 + i);
    }
    rig_say(&rig, SSH_MSG_CHANNEL_OPEN, "suuu", "session", 9, 1000, 1000);
    rig_expect(&rig, SSH_MSG_CHANNEL_OPEN_FAILURE, "uuss", 9, SSH_OPEN_RESOURCE_SHORTAGE,
               "too many open sessions", "");
    /* A channel that closes makes room: its number is used again. */
    rig_say(&rig, SSH_MSG_CHANNEL_CLOSE, "u", 5);
    rig_expect(&rig, SSH_MSG_CHANNEL_CLOSE, "u", 1005);
    ck_assert_uint_eq(program_channel(&rig, 9, 1, 32), 5);
}

TEST(other_types_are_prohibited)
{
    static const char *const types[] = {"direct-tcpip", "x11",    "",
                                        "session2",     "sessio", "direct-streamlocal@openssh.com"};
    rig_reply_done(&rig, IPC_NOTE, 1); /* of channel_note_forwarding() */
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        rig_say(&rig, SSH_MSG_CHANNEL_OPEN, "suuusu", types[i], 77, 1000, 1000, "host", 22);
        struct reader answer = rig_hear(&rig, SSH_MSG_CHANNEL_OPEN_FAILURE);
        ck_assert_uint_eq(reader_u32(&answer), 77);
        ck_assert_uint_eq(reader_u32(&answer), SSH_OPEN_ADMINISTRATIVELY_PROHIBITED);
    }
    ck_assert(!channel_is_open(channel_of(0)));
}

TEST(packet_sizes)
{
    rig_say(&rig, SSH_MSG_CHANNEL_OPEN, "suuu", "session", 1, 1000, 31);
    rig_hear(&rig, SSH_MSG_CHANNEL_OPEN_FAILURE);
    rig_say(&rig, SSH_MSG_CHANNEL_OPEN, "suuu", "session", 1, 1000, 0);
    rig_hear(&rig, SSH_MSG_CHANNEL_OPEN_FAILURE);
    uint32_t number = program_channel(&rig, 1, UINT32_MAX, UINT32_MAX);
    ck_assert_uint_eq(channel_of(number)->remote_packet, LIMIT_CHANNEL_PACKET_BYTES);
    ck_assert_uint_eq(channel_of(number)->remote_window, UINT32_MAX);
}

/* ---- every message: malformed, and for a channel that is not open ---------------------------- */

static const struct message {
    int number;
    const char *body;
    size_t count;
} messages[] = {
    {SSH_MSG_CHANNEL_WINDOW_ADJUST, "\0\0\0\0\0\0\0\1", 8},
    {SSH_MSG_CHANNEL_DATA, "\0\0\0\0\0\0\0\2ab", 10},
    {SSH_MSG_CHANNEL_EXTENDED_DATA, "\0\0\0\0\0\0\0\1\0\0\0\2ab", 14},
    {SSH_MSG_CHANNEL_EOF, "\0\0\0\0", 4},
    {SSH_MSG_CHANNEL_CLOSE, "\0\0\0\0", 4},
};

#define MESSAGES (int)(sizeof(messages) / sizeof(messages[0]))

TEST_EACH(truncated_or_longer_is_refused, MESSAGES)
{
    const struct message *message = &messages[_i];
    uint8_t body[16] = {0};
    memcpy(body, message->body, message->count);
    for (size_t cut = 0; cut <= message->count + 1; cut++) {
        rig_reset(&rig, SSH_PHASE_OPEN);
        program_channel(&rig, 1, 100, 100);
        struct channel before = *channel_of(0);
        rig_say(&rig, message->number, "r", body, cut);
        if (cut == message->count) {
            rig_expect_alive(&rig, SSH_PHASE_OPEN);
            continue;
        }
        rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, cut < 4 ? "" : "malformed ");
        ck_assert_uint_eq(channel_of(0)->window, before.window);
        ck_assert_uint_eq(channel_of(0)->remote_window, before.remote_window);
        ck_assert_int_eq(channel_of(0)->input, before.input);
    }
}

TEST_EACH(no_such_channel, 6 * MESSAGES)
{
    static const uint32_t numbers[] = {1, 15, 16, 17, 0x80000000, UINT32_MAX};
    const struct message *message = &messages[_i % MESSAGES];
    program_channel(&rig, 1, 100, 100);
    rig_say(&rig, message->number, "ur", numbers[_i / MESSAGES], message->body + 4,
            message->count - 4);
    if (message->number == SSH_MSG_CHANNEL_WINDOW_ADJUST &&
        numbers[_i / MESSAGES] < LIMIT_CHANNELS) {
        rig_expect_alive(&rig, SSH_PHASE_OPEN);
        rig_expect_silence(&rig);
        return;
    }
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "a channel that is not open");
}

TEST(malformed_open_and_global_requests)
{
    static const uint8_t body[] = "\0\0\0\7session\0\0\0\1\0\0\0\2\0\0\1\0";
    for (size_t cut = 0; cut <= sizeof(body); cut++) {
        rig_reset(&rig, SSH_PHASE_OPEN);
        rig_say(&rig, SSH_MSG_CHANNEL_OPEN, "r", body, cut);
        if (cut == sizeof(body) - 1) {
            rig_expect_alive(&rig, SSH_PHASE_OPEN);
        } else {
            rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "malformed CHANNEL_OPEN");
            ck_assert(!channel_is_open(channel_of(0)));
        }
    }
    for (size_t cut = 0; cut < 12; cut++) {
        rig_reset(&rig, SSH_PHASE_OPEN);
        rig_say(&rig, SSH_MSG_GLOBAL_REQUEST, "r", body, cut < 11 ? cut : 3);
        rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "malformed GLOBAL_REQUEST");
    }
}

/* ---- windows --------------------------------------------------------------------------------- */

TEST_EACH(adjusts_add_up_to_the_top, 2)
{
    uint32_t number = program_channel(&rig, 1, UINT32_MAX - 10, 100);
    rig_say(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", number, 0);
    rig_say(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", number, 10);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    ck_assert_uint_eq(channel_of(number)->remote_window, UINT32_MAX);
    rig_say(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", number, _i == 0 ? 1 : UINT32_MAX);
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "window beyond 2^32-1");
}

static void say_data(uint32_t number, bool extended, size_t count)
{
    if (extended) {
        rig_say(&rig, SSH_MSG_CHANNEL_EXTENDED_DATA, "uud", number, 1, bytes, count);
    } else {
        rig_say(&rig, SSH_MSG_CHANNEL_DATA, "ud", number, bytes, count);
    }
    if (!rig.connection->end.reached) {
        program_check_windows(&rig);
    }
}

TEST_EACH(data_to_the_last_byte_of_the_window, 2)
{
    uint32_t number = program_channel(&rig, 1, 100, 100);
    say_data(number, false, 0);
    say_data(number, false, LIMIT_CHANNEL_PACKET_BYTES);
    say_data(number, false, LIMIT_CHANNEL_PACKET_BYTES - 1);
    say_data(number, false, 1);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    rig_expect_silence(&rig);
    ck_assert_uint_eq(channel_of(number)->window, 0);
    ck_assert_uint_eq(channel_of(number)->pending.bytes, LIMIT_WINDOW_BYTES);
    say_data(number, false, 0);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    say_data(number, _i == 1, 1);
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "data beyond the window");
}

TEST_EACH(data_beyond_the_maximum_packet, 2)
{
    uint32_t number = program_channel(&rig, 1, 100, 100);
    say_data(number, _i == 1, LIMIT_CHANNEL_PACKET_BYTES + 1);
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "data beyond the maximum packet size");
}

/* For -i. No program reads extended data, so it is no use of the connection either. */
TEST(only_bytes_for_a_program_are_use)
{
    uint32_t number = program_channel(&rig, 1, 100, 100);
    rig.connection->times.used_ms = 99;
    say_data(number, false, 0);
    say_data(number, true, 0);
    say_data(number, true, 1);
    ck_assert_uint_eq(rig.connection->times.used_ms, 99);
    say_data(number, false, 1);
    ck_assert_uint_ne(rig.connection->times.used_ms, 99);
}

/* No program reads it: it is consumed at once, and the window returned in large steps. */
TEST(extended_data_is_dropped)
{
    uint32_t number = program_channel(&rig, 1, 100, 100);
    say_data(number, true, LIMIT_WINDOW_BYTES / 4 - 1);
    rig_expect_silence(&rig);
    say_data(number, true, 1);
    rig_expect(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", 1, LIMIT_WINDOW_BYTES / 4);
    rig_expect_silence(&rig);
    ck_assert_uint_eq(channel_of(number)->window, LIMIT_WINDOW_BYTES);
    ck_assert_uint_eq(channel_of(number)->pending.bytes, 0);
}

TEST(no_adjust_during_our_key_exchange)
{
    uint32_t number = program_channel(&rig, 1, 100, 100);
    rig.connection->kex.sent = true;
    say_data(number, true, LIMIT_CHANNEL_PACKET_BYTES);
    rig_expect_silence(&rig);
    ck_assert_uint_eq(rig.connection->deferred_bytes, 0);
    rig.connection->kex.sent = false;
    say_data(number, true, 1);
    rig_expect(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", 1, LIMIT_CHANNEL_PACKET_BYTES + 1);
}

TEST_EACH(data_after_eof, 2)
{
    uint32_t number = program_channel(&rig, 1, 100, 100);
    rig_say(&rig, SSH_MSG_CHANNEL_EOF, "u", number);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    ck_assert_int_eq(channel_of(number)->input, INPUT_WAITING_EOF);
    say_data(number, _i == 1, 1);
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "data after EOF");
}

/* ---- closing --------------------------------------------------------------------------------- */

TEST(the_client_closes_first)
{
    struct program program;
    int before = rig_open_descriptors();
    program_run(&rig, &program, 6);
    program_close_all(&program);
    rig_reply_done(&rig, IPC_RELEASE, 1);
    rig_say(&rig, SSH_MSG_CHANNEL_CLOSE, "u", program.channel);
    rig_expect(&rig, SSH_MSG_CHANNEL_CLOSE, "u", 6);
    rig_expect_silence(&rig);
    struct ipc_release release;
    rig_request(&rig, IPC_RELEASE, &release, sizeof(release));
    ck_assert_uint_eq(release.channel, program.channel);
    ck_assert(!channel_is_open(channel_of(program.channel)));
    ck_assert_int_eq(rig_open_descriptors(), before);
    rig_say(&rig, SSH_MSG_CHANNEL_CLOSE, "u", program.channel);
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "a channel that is not open");
}

/* Window that arrives for a closed channel does not go to the next one with that number. */
TEST(a_late_adjust)
{
    uint32_t number = program_channel(&rig, 1, 100, 100);
    rig_say(&rig, SSH_MSG_CHANNEL_CLOSE, "u", number);
    rig_expect(&rig, SSH_MSG_CHANNEL_CLOSE, "u", 1);
    rig_say(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", number, 5000);
    rig_say(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", number, UINT32_MAX);
    rig_say(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", number, UINT32_MAX);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    rig_expect_silence(&rig);
    ck_assert_uint_eq(channel_of(number)->remote_window, 0);
    ck_assert_uint_eq(program_channel(&rig, 2, 7, 100), number);
    ck_assert_uint_eq(channel_of(number)->remote_window, 7);
    rig_say(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uub", number + 1, 5, 0);
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "malformed CHANNEL_WINDOW_ADJUST");
}

TEST(we_close_first)
{
    struct program program;
    program_run(&rig, &program, 6);
    program_exit(&program, 0, 0, 0);
    program_close_all(&program);
    program_turn(&rig, 0);
    rig_expect(&rig, SSH_MSG_CHANNEL_REQUEST, "usbu", 6, "exit-status", 0, 0);
    rig_expect(&rig, SSH_MSG_CHANNEL_EOF, "u", 6);
    rig_expect(&rig, SSH_MSG_CHANNEL_CLOSE, "u", 6);
    rig_expect_silence(&rig);
    ck_assert(channel_is_open(channel_of(program.channel)));
    /* Messages that cross it are accepted and get no answer. */
    say_data(program.channel, false, LIMIT_CHANNEL_PACKET_BYTES);
    say_data(program.channel, true, LIMIT_CHANNEL_PACKET_BYTES);
    rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usb", program.channel, "keepalive@openssh.com", 1);
    rig_say(&rig, SSH_MSG_CHANNEL_WINDOW_ADJUST, "uu", program.channel, 5);
    rig_say(&rig, SSH_MSG_CHANNEL_EOF, "u", program.channel);
    rig_expect_silence(&rig);
    rig_reply_done(&rig, IPC_RELEASE, 1);
    rig_say(&rig, SSH_MSG_CHANNEL_CLOSE, "u", program.channel);
    rig_expect_silence(&rig);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    ck_assert(!channel_is_open(channel_of(program.channel)));
}

/* The next channel with that number inherits nothing. */
TEST(a_reused_number_starts_afresh)
{
    uint32_t number = program_channel(&rig, 1, 100, 100);
    rig_say(&rig, SSH_MSG_CHANNEL_REQUEST, "usbss", number, "env", 0, "LANG", "C");
    say_data(number, false, 3000);
    rig_say(&rig, SSH_MSG_CHANNEL_EOF, "u", number);
    rig_say(&rig, SSH_MSG_CHANNEL_CLOSE, "u", number);
    rig_expect(&rig, SSH_MSG_CHANNEL_CLOSE, "u", 1);
    rig_expect_no_request(&rig);
    ck_assert_uint_eq(program_channel(&rig, 2, 5, 50), number);
    const struct channel *channel = channel_of(number);
    ck_assert_int_eq(channel->input, INPUT_WAITING);
    ck_assert_int_eq(channel->output, OUTPUT_WAITING);
    ck_assert_uint_eq(channel->environment_bytes, 0);
    ck_assert_uint_eq(channel->pending.bytes, 0);
    ck_assert_uint_eq(channel->consumed, 0);
    ck_assert_int_eq(channel->child_stdin, -1);
    say_data(number, false, LIMIT_CHANNEL_PACKET_BYTES);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
}

/* ---- replies --------------------------------------------------------------------------------- */

static const int replies[] = {SSH_MSG_REQUEST_SUCCESS, SSH_MSG_REQUEST_FAILURE,
                              SSH_MSG_CHANNEL_SUCCESS, SSH_MSG_CHANNEL_FAILURE};

/* For an open channel, a closed one, and numbers that no channel has. */
TEST_EACH(unwanted_replies, 4)
{
    static const uint32_t numbers[] = {0, 1, 15, 16, UINT32_MAX};
    program_channel(&rig, 1, 100, 100);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        rig_say(&rig, replies[_i], "u", numbers[i]);
    }
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    rig_expect_silence(&rig);
    rig_expect_no_request(&rig);
}

TEST_EACH(replies_to_channel_requests_of_a_wrong_length, 2)
{
    static const uint8_t body[5] = {0};
    for (size_t count = 0; count <= sizeof(body); count++) {
        rig_reset(&rig, SSH_PHASE_OPEN);
        rig_say(&rig, replies[2 + _i], "r", body, count);
        if (count == 4) {
            rig_expect_alive(&rig, SSH_PHASE_OPEN);
        } else {
            rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "malformed CHANNEL_");
        }
    }
}
