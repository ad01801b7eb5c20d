#include "net.h"

#include <string.h>

#include "client.h"
#include "transport.h"
#include "unit.h"

static struct rig rig;
static struct client client;

static void start(void)
{
    client_know_random();
    rig_open(&rig, SSH_PHASE_OPEN);
}

UNIT_FIXTURE(start, NULL);
UNIT_TIMEOUT(60);

/* ---- held back during our key exchange ------------------------------------------------------- */

static void log_in(bool strict)
{
    const struct offer offer = {.methods = strict ? CURVE25519 ",kex-strict-c-v00@openssh.com"
                                                  : CURVE25519};
    rig_reset(&rig, SSH_PHASE_KEXINIT);
    client_open(&rig, &client);
    client_whole_exchange(&rig, &client, &offer, false);
    rig.connection->phase = SSH_PHASE_OPEN;
}

/* We ask for a rekey; what the client says before its own KEXINIT is still legal, is acted on, and
 * answered behind NEWKEYS, in order. */
TEST_EACH(answers_leave_behind_newkeys, 4)
{
    const struct offer offer = {.methods = _i < 2 ? CURVE25519 : HYBRID};
    log_in((_i & 1) != 0);
    kexinit_send(rig.connection);
    client_hear_kexinit(&rig, &client);
    rig_send(&rig, SSH_MSG_PING, "s", "first");
    rig_send(&rig, SSH_MSG_CHANNEL_OPEN, "suuu", "session", 7, 100000, 32768);
    rig_send(&rig, SSH_MSG_CHANNEL_DATA, "us", 0, "typed ahead");
    rig_send(&rig, SSH_MSG_GLOBAL_REQUEST, "sb", "keepalive@openssh.com", 1);
    rig_send(&rig, 200, "");
    uint32_t refused = rig.up.sequence - 1;
    rig_send(&rig, SSH_MSG_PING, "s", "last");
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    ck_assert(channel_is_open(&rig.connection->channels[0]));
    ck_assert_uint_eq(rig.connection->channels[0].pending.bytes, strlen("typed ahead"));
    rig_expect_silence(&rig);
    client_say_kexinit(&rig, &client, &offer);
    rig_expect_silence(&rig);
    client_exchange(&rig, &client, _i >= 2);
    rig_expect(&rig, SSH_MSG_PONG, "s", "first");
    rig_expect(&rig, SSH_MSG_CHANNEL_OPEN_CONFIRMATION, "uuuu", 7, 0, LIMIT_WINDOW_BYTES,
               LIMIT_CHANNEL_PACKET_BYTES);
    rig_expect(&rig, SSH_MSG_REQUEST_FAILURE, "");
    rig_expect(&rig, SSH_MSG_UNIMPLEMENTED, "u", refused);
    rig_expect(&rig, SSH_MSG_PONG, "s", "last");
    rig_expect_silence(&rig);
    ck_assert_uint_eq(rig.connection->deferred_bytes, 0);
    client_newkeys(&rig, &client, (_i & 1) != 0);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    rig_send(&rig, SSH_MSG_PING, "s", "under new keys");
    rig_expect(&rig, SSH_MSG_PONG, "s", "under new keys");
}

/* Between our NEWKEYS and the client's we may speak already. */
TEST(speaks_before_the_clients_newkeys)
{
    const struct offer offer = {.methods = CURVE25519};
    log_in(true);
    client_kexinit(&rig, &client, &offer);
    client_exchange(&rig, &client, false);
    rig_expect_alive(&rig, SSH_PHASE_REKEY_NEWKEYS);
    struct writer message = message_begin(rig.connection, SSH_MSG_IGNORE);
    writer_text(&message, "now");
    message_send(rig.connection, &message);
    rig_expect(&rig, SSH_MSG_IGNORE, "s", "now");
}

TEST(disconnect_and_key_exchange_are_not_held_back)
{
    rig.connection->kex.sent = true;
    struct writer message = message_begin(rig.connection, SSH_MSG_KEX_ECDH_REPLY);
    message_send(rig.connection, &message);
    rig_expect(&rig, SSH_MSG_KEX_ECDH_REPLY, "");
    rig_say(&rig, SSH_MSG_PING, "s", "held back");
    rig_expect_silence(&rig);
    connection_refuse(rig.connection, SSH_DISCONNECT_BY_APPLICATION, "enough");
    rig_expect(&rig, SSH_MSG_DISCONNECT, "uss", SSH_DISCONNECT_BY_APPLICATION, "enough", "");
    rig_expect_silence(&rig);
}

/* Every message costs its size field, its number, and here a string's length. */
#define HELD_OVERHEAD (4 + 1 + 4)

static void hold_back(size_t string_bytes)
{
    static const uint8_t zeros[LIMIT_DEFERRED_BYTES];
    rig_say(&rig, SSH_MSG_PING, "d", zeros, string_bytes);
}

static void expect_refused_for_its_flood(void)
{
    const char *reason = "too many requests during a key exchange";
    rig_expect(&rig, SSH_MSG_DISCONNECT, "uss", SSH_DISCONNECT_PROTOCOL_ERROR, reason, "");
    rig_expect_left(&rig, reason);
}

TEST_EACH(the_hold_has_its_size_and_no_more, 2)
{
    rig.connection->kex.sent = true;
    for (int i = 0; i < 15; i++) {
        hold_back(1024 - HELD_OVERHEAD);
    }
    hold_back(1024 - HELD_OVERHEAD + (size_t)_i);
    if (_i == 0) {
        rig_expect_alive(&rig, SSH_PHASE_OPEN);
        ck_assert_uint_eq(rig.connection->deferred_bytes, LIMIT_DEFERRED_BYTES);
        hold_back(0);
    }
    expect_refused_for_its_flood();
    ck_assert_int_eq(rig.connection->phase, SSH_PHASE_ENDED);
}

TEST(a_flood_during_our_exchange_ends_it)
{
    log_in(false);
    kexinit_send(rig.connection);
    client_hear_kexinit(&rig, &client);
    for (int i = 0; i < 10000 && !rig.connection->end.reached; i++) {
        rig_send(&rig, SSH_MSG_GLOBAL_REQUEST, "sb", "keepalive@openssh.com", 1);
    }
    expect_refused_for_its_flood();
}

static void ask_for_the_shortest_answer(void)
{
    rig_send(&rig, SSH_MSG_GLOBAL_REQUEST, "sb", "keepalive@openssh.com", 1);
}

/* One byte of payload takes a packet of 28 bytes: counted as they leave, one more would not fit. */
TEST_EACH(what_is_held_back_fits_when_it_leaves, 2)
{
    const struct offer offer = {.methods = HYBRID};
    const size_t fit = LIMIT_DEFERRED_SEALED_BYTES / packet_sealed_bytes(1);
    log_in(_i == 1);
    kexinit_send(rig.connection);
    client_hear_kexinit(&rig, &client);
    for (size_t i = 0; i < fit; i++) {
        ask_for_the_shortest_answer();
        rig_expect_alive(&rig, SSH_PHASE_OPEN);
    }
    client_say_kexinit(&rig, &client, &offer);
    client_exchange(&rig, &client, true);
    ck_assert_uint_le(rig.connection->output_end, LIMIT_REPLY_BYTES);
    for (size_t i = 0; i < fit; i++) {
        rig_expect(&rig, SSH_MSG_REQUEST_FAILURE, "");
    }
    rig_expect_silence(&rig);
    client_newkeys(&rig, &client, _i == 1);
    /* The next exchange begins to count anew. */
    kexinit_send(rig.connection);
    client_hear_kexinit(&rig, &client);
    for (size_t i = 0; i < fit; i++) {
        ask_for_the_shortest_answer();
        rig_expect_alive(&rig, SSH_PHASE_OPEN);
    }
    ask_for_the_shortest_answer();
    expect_refused_for_its_flood();
}

/* ---- the output buffer ----------------------------------------------------------------------- */

static size_t ping_until_room_is_below(size_t room)
{
    static const uint8_t zeros[8000];
    size_t count = 0;
    while (output_room(rig.connection) >= room) {
        rig_say(&rig, SSH_MSG_PING, "d", zeros, sizeof(zeros));
        count++;
    }
    return count;
}

TEST(room_is_what_is_free)
{
    ck_assert_uint_eq(output_room(rig.connection), LIMIT_OUTPUT_BYTES);
    rig_say(&rig, SSH_MSG_PING, "s", "");
    ck_assert_uint_eq(output_room(rig.connection), LIMIT_OUTPUT_BYTES - 16);
    rig_expect(&rig, SSH_MSG_PONG, "s", "");
    ck_assert_uint_eq(output_room(rig.connection), LIMIT_OUTPUT_BYTES);
}

/* The room of sent bytes is used again in a full buffer; no byte is lost or changes its place. */
TEST(the_output_is_a_queue)
{
    static const uint8_t zeros[8000];
    size_t queued = ping_until_room_is_below(LIMIT_REPLY_BYTES);
    for (uint32_t round = 0; round < 100; round++) {
        rig_expect(&rig, SSH_MSG_PONG, "d", zeros, sizeof(zeros));
        rig_say(&rig, SSH_MSG_PING, "(u)", round);
        for (size_t i = 1; i < queued; i++) {
            rig_expect(&rig, SSH_MSG_PONG, "d", zeros, sizeof(zeros));
            rig_say(&rig, SSH_MSG_PING, "d", zeros, sizeof(zeros));
        }
        rig_expect(&rig, SSH_MSG_PONG, "(u)", round);
        rig_say(&rig, SSH_MSG_PING, "d", zeros, sizeof(zeros));
    }
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
}

TEST(an_overflow_ends_the_connection)
{
    static const uint8_t zeros[8000];
    for (int i = 0; i < 100 && !rig.connection->end.reached; i++) {
        rig_say(&rig, SSH_MSG_PING, "d", zeros, sizeof(zeros));
    }
    ck_assert_str_eq(rig.connection->end.reason, "output overflow");
    size_t fit = LIMIT_OUTPUT_BYTES / (sizeof(zeros) + PACKET_OVERHEAD_BYTES);
    for (size_t i = 0; i < fit; i++) {
        rig_expect(&rig, SSH_MSG_PONG, "d", zeros, sizeof(zeros));
    }
    rig_expect_failed(&rig, "output overflow");
}

/* As full as can be, byte by byte: the last message fits or it ends the connection. */
TEST(the_edge_of_the_output)
{
    static const uint8_t zeros[33064];
    for (size_t size = 0; size < 64; size++) {
        rig_reset(&rig, SSH_PHASE_OPEN);
        for (int i = 0; i < 6; i++) {
            rig_say(&rig, SSH_MSG_PING, "d", zeros, sizeof(zeros) - 64 + size);
        }
        rig_expect_alive(&rig, SSH_PHASE_OPEN);
        while (!rig.connection->end.reached) {
            rig_say(&rig, SSH_MSG_PING, "d", zeros, size);
        }
        ck_assert_uint_le(rig.connection->output_end, LIMIT_OUTPUT_BYTES);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

TEST(the_first_reason_stays)
{
    struct connection *connection = rig.connection;
    ck_assert_int_eq(connection_refuse(connection, SSH_DISCONNECT_MAC_ERROR, "one"),
                     SSH_PHASE_ENDED);
    ck_assert_int_eq(connection_refuse(connection, SSH_DISCONNECT_MAC_ERROR, "two"),
                     SSH_PHASE_ENDED);
    ck_assert_int_eq(connection_leave(connection, "three"), SSH_PHASE_ENDED);
    ck_assert_int_eq(connection_fail(connection, "four"), SSH_PHASE_ENDED);
    connection->phase = SSH_PHASE_ENDED;
    rig_expect_refusal(&rig, SSH_DISCONNECT_MAC_ERROR, "one");
    ck_assert_str_eq(connection->end.reason, "one");
}

TEST(leaving_says_nothing_and_failing_no_reason)
{
    connection_leave(rig.connection, "gone");
    rig_expect_left(&rig, "gone");
    rig_reset(&rig, SSH_PHASE_OPEN);
    connection_fail(rig.connection, "broken");
    rig_expect_failed(&rig, "broken");
    connection_refuse(rig.connection, SSH_DISCONNECT_MAC_ERROR, "late");
    rig_expect_silence(&rig);
    ck_assert_str_eq(rig.connection->end.reason, "broken");
}

TEST(a_long_reason_is_cut_off)
{
    char reason[2000];
    memset(reason, 'x', sizeof(reason) - 1);
    reason[sizeof(reason) - 1] = '\0';
    connection_leave(rig.connection, "%s", reason);
    ck_assert_uint_eq(strlen(rig.connection->end.reason), LIMIT_NOTE_BYTES);
}
