#include "net.h"
#include "transport.h"

#include <string.h>

#include "rig.h"
#include "unit.h"

static struct rig rig;

static void start(void)
{
    rig_open(&rig, SSH_PHASE_OPEN);
}

UNIT_FIXTURE(start, NULL);

/* ---- IGNORE, UNIMPLEMENTED, DEBUG, DISCONNECT ------------------------------------------------ */

static const enum ssh_phase between[] = {SSH_PHASE_SERVICE, SSH_PHASE_AUTH, SSH_PHASE_OPEN,
                                         SSH_PHASE_REKEY_ECDH};

TEST_EACH(nothing_comes_of_the_small_ones, 4)
{
    rig.connection->phase = between[_i];
    rig_say(&rig, SSH_MSG_IGNORE, "s", "padding");
    rig_say(&rig, SSH_MSG_IGNORE, "s", "");
    rig_say(&rig, SSH_MSG_UNIMPLEMENTED, "u", 5);
    rig_say(&rig, SSH_MSG_DEBUG, "bss", 1, "all is well", "en");
    rig_expect_alive(&rig, between[_i]);
    rig_expect_silence(&rig);
    rig_expect_no_request(&rig);
}

/* A whole message of each kind, and how its refusal names it. */
static const struct message {
    int number;
    const char *body;
    size_t bytes;
    enum ssh_phase phase;
    const char *name;
} messages[] = {
    {SSH_MSG_IGNORE, "\0\0\0\2xy", 6, SSH_PHASE_OPEN, "malformed IGNORE"},
    {SSH_MSG_UNIMPLEMENTED, "\0\0\0\2", 4, SSH_PHASE_OPEN, "malformed UNIMPLEMENTED"},
    {SSH_MSG_DEBUG, "\1\0\0\0\2xy\0\0\0\1e", 12, SSH_PHASE_OPEN, "malformed DEBUG"},
    {SSH_MSG_PING, "\0\0\0\2xy", 6, SSH_PHASE_OPEN, "malformed PING"},
    {SSH_MSG_SERVICE_REQUEST, "\0\0\0\14ssh-userauth", 16, SSH_PHASE_SERVICE,
     "malformed SERVICE_REQUEST"},
    {SSH_MSG_EXT_INFO, "\0\0\0\2\0\0\0\1a\0\0\0\1b\0\0\0\1c\0\0\0\0", 23, SSH_PHASE_SERVICE,
     "malformed EXT_INFO"},
};

TEST_EACH(truncated_or_longer_is_malformed, COUNT_OF(messages))
{
    const struct message *message = &messages[_i];
    uint8_t body[32] = {0};
    memcpy(body, message->body, message->bytes);
    for (size_t cut = 0; cut <= message->bytes + 1; cut++) {
        rig_reset(&rig, message->phase);
        rig_say(&rig, message->number, "r", body, cut);
        if (cut == message->bytes) {
            ck_assert(!rig.connection->end.reached);
        } else {
            rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, message->name);
        }
    }
}

TEST(debug_is_logged_at_vv)
{
    rig.options.verbosity = 1;
    rig_say(&rig, SSH_MSG_DEBUG, "bss", 0, "quiet", "");
    rig_expect_no_request(&rig);
    rig.options.verbosity = 2;
    rig_reply_done(&rig, IPC_NOTE, 1);
    rig_say(&rig, SSH_MSG_DEBUG, "bss", 0, "loud", "");
    rig_expect_note(&rig, 3, "client's debug message: loud");
    char text[2000] = {0}, shown[200] = "client's debug message: ";
    memset(text, 'z', sizeof(text) - 1);
    memset(shown + strlen(shown), 'z', 150);
    rig_reply_done(&rig, IPC_NOTE, 1);
    rig_say(&rig, SSH_MSG_DEBUG, "bss", 0, text, "");
    rig_expect_note(&rig, 3, shown);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
}

/* It is answered by closing, however it is written. */
TEST(disconnect)
{
    char text[2000] = {0};
    memset(text, 'z', sizeof(text) - 1);
    rig_say(&rig, SSH_MSG_DISCONNECT, "uss", 11, "disconnected by user", "");
    rig_expect_left(&rig, "client disconnected (11): disconnected by user");
    rig_reset(&rig, SSH_PHASE_ECDH);
    rig_say(&rig, SSH_MSG_DISCONNECT, "us", 2, text);
    rig_expect_left(&rig, "client disconnected (2): zzz");
    ck_assert_uint_lt(strlen(rig.connection->end.reason), 200);
    static const uint8_t body[] = {0, 0, 0, 9, 0xff, 0xff, 0xff, 0xff};
    for (size_t cut = 0; cut <= sizeof(body); cut++) {
        rig_reset(&rig, SSH_PHASE_AUTH);
        rig_say(&rig, SSH_MSG_DISCONNECT, "r", body, cut);
        rig_expect_left(&rig, cut < 4 ? "client disconnected (0): " : "client disconnected (9): ");
    }
}

/* ---- SERVICE_REQUEST, EXT_INFO, PING --------------------------------------------------------- */

TEST(only_userauth_can_be_had)
{
    rig_reset(&rig, SSH_PHASE_SERVICE);
    rig_say(&rig, SSH_MSG_SERVICE_REQUEST, "s", "ssh-userauth");
    rig_expect(&rig, SSH_MSG_SERVICE_ACCEPT, "s", "ssh-userauth");
    rig_expect_alive(&rig, SSH_PHASE_AUTH);
    static const char *const others[] = {"ssh-connection", "ssh-userauth2", "", "ssh-usera"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        rig_reset(&rig, SSH_PHASE_SERVICE);
        rig_say(&rig, SSH_MSG_SERVICE_REQUEST, "s", others[i]);
        rig_expect_refusal(&rig, SSH_DISCONNECT_SERVICE_NOT_AVAILABLE, "only the ssh-userauth");
    }
}

TEST(ext_info_is_read_over)
{
    rig_reset(&rig, SSH_PHASE_SERVICE);
    rig_say(&rig, SSH_MSG_EXT_INFO, "ussss", 2, "ext-info-in-auth@openssh.com", "0", "x", "");
    rig_say(&rig, SSH_MSG_EXT_INFO, "u", 0);
    rig_expect_alive(&rig, SSH_PHASE_SERVICE);
    rig_expect_silence(&rig);
    /* A count far beyond the packet ends at once. */
    rig_say(&rig, SSH_MSG_EXT_INFO, "uss", UINT32_MAX, "a", "b");
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "malformed EXT_INFO");
}

TEST(ping_is_echoed)
{
    static uint8_t data[33000];
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (uint8_t)(i * 13);
    }
    for (size_t count = 0; count <= sizeof(data); count = count * 3 + 1) {
        rig_say(&rig, SSH_MSG_PING, "d", data, count);
        rig_expect(&rig, SSH_MSG_PONG, "d", data, count);
    }
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
}

TEST(what_we_send_ourselves)
{
    messages_send_unimplemented(rig.connection, 0xfedcba98);
    rig_expect(&rig, SSH_MSG_UNIMPLEMENTED, "u", 0xfedcba98);
    messages_send_ext_info(rig.connection);
    rig_expect(&rig, SSH_MSG_EXT_INFO, "ussssss", 3, "server-sig-algs",
               "ssh-ed25519,sk-ssh-ed25519@openssh.com,ssh-ed25519-cert-v01@openssh.com,sk-ssh-"
               "ed25519-cert-v01@openssh.com",
               "publickey-hostbound@openssh.com", "0", "ping@openssh.com", "0");
    rig_expect_silence(&rig);
}

/* As long as the answer always finds room in the output. */
TEST(the_longest_ping)
{
    static const uint8_t zeros[LIMIT_PACKET_BYTES + 1];
    rig_say(&rig, SSH_MSG_PING, "d", zeros, (size_t)LIMIT_PACKET_BYTES);
    ck_assert_uint_le(rig.connection->output_end, LIMIT_REPLY_BYTES);
    rig_expect(&rig, SSH_MSG_PONG, "d", zeros, (size_t)LIMIT_PACKET_BYTES);
    rig_say(&rig, SSH_MSG_PING, "d", zeros, sizeof(zeros));
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "PING is too long");
}
