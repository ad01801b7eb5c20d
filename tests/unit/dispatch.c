/* Compares dispatch() with the second copy of the matrix of messages and phases, in
 * message_phases.h. */
#include "net.h"

#include <string.h>

#include "channels.h"
#include "client.h"
#include "message_phases.h"
#include "transport.h"
#include "unit.h"

static const char letters[] = PHASE_LETTERS;

#define ROW(number, taken, handler) {number, taken, handler},
static const struct known {
    int number;
    const char *taken;
    message_handler *handler;
} known[] = {MESSAGE_PHASES(ROW)};

static struct rig rig;

static void open_rig(void)
{
    client_know_random();
    rig_open(&rig, SSH_PHASE_OPEN);
}

UNIT_FIXTURE(open_rig, NULL);
UNIT_TIMEOUT(60);

static bool has(const char *set, char letter)
{
    return strchr(set, letter) != NULL;
}

static const struct known *know(int number)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].number == number) {
            return &known[i];
        }
    }
    return NULL;
}

static enum dispatch_verdict expected_verdict(int number, char letter, message_handler **handler)
{
    const struct known *message = know(number);
    if (has(PHASES_OF_GUESS, letter) && number >= 30 && number <= 49) {
        *handler = kex_on_wrong_guess;
        return DISPATCH_HANDLE;
    }
    if (message != NULL) {
        *handler = message->handler;
        return has(message->taken, letter) ? DISPATCH_HANDLE : DISPATCH_REFUSE;
    }
    return has(PHASES_OF_UNKNOWN, letter) ? DISPATCH_UNIMPLEMENTED : DISPATCH_REFUSE;
}

TEST(all_messages_in_all_phases)
{
    ck_assert_uint_eq(strlen(letters), SSH_PHASES);
    for (int number = 0; number < 256; number++) {
        for (int phase = 0; phase < SSH_PHASES; phase++) {
            message_handler *handler = NULL, *expected_handler = NULL;
            enum dispatch_verdict expected =
                expected_verdict(number, letters[phase], &expected_handler);
            enum dispatch_verdict found =
                dispatch_lookup((uint8_t)number, (enum ssh_phase)phase, &handler);
            ck_assert_msg(found == expected, "message %d in phase %c: %d, not %d", number,
                          letters[phase], found, expected);
            ck_assert_msg(found != DISPATCH_HANDLE || handler == expected_handler,
                          "message %d in phase %c: another handler", number, letters[phase]);
        }
    }
}

/* From the first KEXINIT to the end; before and after there are no packets to dispatch. */
TEST(refusal_and_unimplemented_take_effect)
{
    for (int number = 0; number < 256; number++) {
        for (int phase = SSH_PHASE_KEXINIT; phase < SSH_PHASE_ENDED; phase++) {
            message_handler *handler;
            enum dispatch_verdict expected = expected_verdict(number, letters[phase], &handler);
            if (expected == DISPATCH_HANDLE) {
                continue;
            }
            rig.connection->phase = (enum ssh_phase)phase;
            rig.connection->end.reached = false;
            rig.sequence = 0xfffffff0U + (uint32_t)phase;
            rig_say(&rig, number, "u", 0);
            if (expected == DISPATCH_UNIMPLEMENTED) {
                rig_expect_alive(&rig, (enum ssh_phase)phase);
                rig_expect(&rig, SSH_MSG_UNIMPLEMENTED, "u", 0xfffffff0U + (uint32_t)phase);
                rig_expect_silence(&rig);
            } else {
                char reason[40];
                snprintf(reason, sizeof(reason), "message %d is not allowed ", number);
                rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, reason);
                ck_assert_ptr_null(strstr(rig.connection->end.reason, "null"));
            }
        }
    }
}

TEST(unimplemented_echoes_the_sequence_number)
{
    rig.sequence = 77;
    rig_say(&rig, 200, "");
    rig_say(&rig, 0, "s", "anything");
    rig_expect(&rig, SSH_MSG_UNIMPLEMENTED, "u", 77);
    rig_expect(&rig, SSH_MSG_UNIMPLEMENTED, "u", 78);
}

TEST(a_whole_login_passes_the_phases_in_order)
{
    static struct client client;
    const struct offer offer = {.methods = CURVE25519};
    rig_reset(&rig, SSH_PHASE_VERSION);
    client_open(&rig, &client);
    rig_deliver(&rig, CLIENT_VERSION "\r\n", strlen(CLIENT_VERSION "\r\n"));
    rig_expect_alive(&rig, SSH_PHASE_KEXINIT);
    client_kexinit(&rig, &client, &offer);
    rig_expect_alive(&rig, SSH_PHASE_ECDH);
    client_exchange(&rig, &client, false);
    rig_expect_alive(&rig, SSH_PHASE_NEWKEYS);
    client_newkeys(&rig, &client, false);
    rig_expect_alive(&rig, SSH_PHASE_SERVICE);
    rig_send(&rig, SSH_MSG_EXT_INFO, "u", 0);
    rig_expect_alive(&rig, SSH_PHASE_SERVICE);
    rig_send(&rig, SSH_MSG_SERVICE_REQUEST, "s", "ssh-userauth");
    rig_expect_alive(&rig, SSH_PHASE_AUTH);
    rig_send(&rig, SSH_MSG_USERAUTH_REQUEST, "sss", "bob", "ssh-connection", "none");
    rig_expect_alive(&rig, SSH_PHASE_AUTH);
}

static const enum ssh_phase between[] = {SSH_PHASE_SERVICE, SSH_PHASE_AUTH, SSH_PHASE_OPEN};

/* A later exchange begun in each of the three phases goes back to it. */
static void rekeys_in(enum ssh_phase phase, bool guessed)
{
    static struct client client;
    const struct offer first = {.methods = CURVE25519};
    const struct offer later = {.methods = guessed ? "other," CURVE25519 : CURVE25519,
                                .packet_follows = guessed};
    rig_reset(&rig, SSH_PHASE_KEXINIT);
    client_open(&rig, &client);
    client_whole_exchange(&rig, &client, &first, false);
    rig_expect_alive(&rig, SSH_PHASE_SERVICE);
    rig.connection->phase = phase;
    client_kexinit(&rig, &client, &later);
    ck_assert_int_eq(rig.connection->resume, phase);
    if (guessed) {
        rig_expect_alive(&rig, SSH_PHASE_REKEY_GUESS);
        rig_send(&rig, 34, "s", "a guess");
    }
    rig_expect_alive(&rig, SSH_PHASE_REKEY_ECDH);
    rig_send(&rig, SSH_MSG_IGNORE, "s", "between");
    rig_expect_alive(&rig, SSH_PHASE_REKEY_ECDH);
    client_exchange(&rig, &client, false);
    rig_expect_alive(&rig, SSH_PHASE_REKEY_NEWKEYS);
    client_newkeys(&rig, &client, false);
    rig_expect_alive(&rig, phase);
}

TEST_EACH(a_rekey_resumes_where_it_began, 3)
{
    rekeys_in(between[_i], false);
    rekeys_in(between[_i], true);
}

TEST(an_end_in_a_handler_ends_the_phase)
{
    rig_say(&rig, SSH_MSG_DISCONNECT, "us", 11, "bye");
    ck_assert_int_eq(rig.connection->phase, SSH_PHASE_ENDED);
    rig_expect_left(&rig, "client disconnected (11): bye");
}

/* ---- the input ------------------------------------------------------------------------------- */

TEST(a_corrupt_packet_ends_the_connection)
{
    static const uint8_t packet[16] = {0, 0, 0, 12, 200};
    rig_deliver(&rig, packet, sizeof(packet));
    rig_expect_refusal(&rig, SSH_DISCONNECT_MAC_ERROR, "corrupt packet");
}

/* Packets stay in the input while their answers have no room, and are handled once there is. */
TEST(input_waits_for_room)
{
    static const uint8_t zeros[8000];
    struct connection *connection = rig.connection;
    while (output_room(connection) >= LIMIT_REPLY_BYTES) {
        rig_say(&rig, SSH_MSG_PING, "d", zeros, sizeof(zeros));
    }
    ck_assert(!connection->socket.input_waits);
    rig_send(&rig, SSH_MSG_PING, "s", "later");
    ck_assert(connection->socket.input_waits);
    ck_assert_uint_gt(connection->input_end, connection->input_start);
    connection->output_start = connection->output_end = 0;
    rig.down.sequence = connection->out.sequence;
    dispatch_input(connection);
    rig_expect(&rig, SSH_MSG_PONG, "s", "later");
    ck_assert(!connection->socket.input_waits);
    ck_assert_uint_eq(connection->input_end, connection->input_start);
}
