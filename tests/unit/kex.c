/*
 * Whole key exchanges with the client of support/client.c, which computes H and the keys itself. It
 * can read our packets only if both sides have the same keys.
 */
#include "net.h"
#include "transport.h"

#include <string.h>
#include <unistd.h>

#include "client.h"
#include "unit.h"

#define PLAIN_OFFER  CURVE25519
#define STRICT_OFFER ",kex-strict-c-v00@openssh.com"
#define INFO_OFFER   ",ext-info-c"

static struct rig rig;
static struct client client;

static void start(void)
{
    client_know_random();
    rig_open(&rig, SSH_PHASE_KEXINIT);
    client_open(&rig, &client);
}

UNIT_FIXTURE(start, NULL);
UNIT_TIMEOUT(60);

/* Both directions work under the keys in force. */
static void expect_ping_pong(void)
{
    enum ssh_phase phase = rig.connection->phase;
    rig.connection->phase = SSH_PHASE_OPEN;
    rig_send(&rig, SSH_MSG_PING, "s", "are you there?");
    rig_expect(&rig, SSH_MSG_PONG, "s", "are you there?");
    rig_expect_silence(&rig);
    rig.connection->phase = phase;
}

static const char *const method_names[] = {CURVE25519, CURVE25519 "@libssh.org", HYBRID,
                                           HYBRID "@openssh.com"};

static void expect_session_id(void)
{
    ck_assert_uint_eq(rig.connection->kex.session_id_bytes, client.secrets.session_id_bytes);
    ck_assert_mem_eq(rig.connection->kex.session_id, client.secrets.session_id,
                     client.secrets.session_id_bytes);
}

TEST_EACH(every_method_first, 8)
{
    char methods[128];
    bool hybrid = (_i & 3) >= 2, strict = (_i & 4) != 0;
    snprintf(methods, sizeof(methods), "%s%s", method_names[_i & 3], strict ? STRICT_OFFER : "");
    const struct offer offer = {.methods = methods};
    client_whole_exchange(&rig, &client, &offer, hybrid);
    rig_expect_silence(&rig);
    rig_expect_alive(&rig, SSH_PHASE_SERVICE);
    expect_session_id();
    ck_assert_uint_eq(client.secrets.session_id_bytes, hybrid ? 64 : 32);
    ck_assert_uint_eq(rig.connection->in.sequence, strict ? 0 : 3);
    ck_assert_uint_eq(rig.connection->out.sequence, strict ? 0 : 3);
    expect_ping_pong();
}

/* Every K of 32 bytes has its own mpint: some start with zeros, half of them have the high bit. */
TEST(many_secrets)
{
    const struct offer offer = {.methods = PLAIN_OFFER};
    for (int i = 0; i < 200; i++) {
        rig_reset(&rig, SSH_PHASE_KEXINIT);
        client_open(&rig, &client);
        client_whole_exchange(&rig, &client, &offer, false);
        expect_ping_pong();
    }
}

TEST(ext_info_is_the_first_packet_behind_newkeys)
{
    const struct offer offer = {.methods = CURVE25519 INFO_OFFER};
    client_kexinit(&rig, &client, &offer);
    client_exchange(&rig, &client, false);
    rig_expect(&rig, SSH_MSG_EXT_INFO, "ussssss", 3, "server-sig-algs",
               "ssh-ed25519,sk-ssh-ed25519@openssh.com,ssh-ed25519-cert-v01@openssh.com,sk-ssh-"
               "ed25519-cert-v01@openssh.com",
               "publickey-hostbound@openssh.com", "0", "ping@openssh.com", "0");
    rig_expect_silence(&rig);
    client_newkeys(&rig, &client, false);
    client_whole_exchange(&rig, &client, &offer, false);
    rig_expect_silence(&rig);
}

/* The first exchange's hash settles the session id; each later one may use another hash. */
TEST_EACH(rekeys_keep_the_session_id, 4)
{
    bool strict = (_i & 1) != 0, hybrid = (_i & 2) != 0;
    const struct offer first = {.methods = hybrid   ? (strict ? HYBRID STRICT_OFFER : HYBRID)
                                           : strict ? CURVE25519 STRICT_OFFER
                                                    : CURVE25519};
    client_whole_exchange(&rig, &client, &first, hybrid);
    size_t id_bytes = client.secrets.session_id_bytes;
    ck_assert_uint_eq(id_bytes, hybrid ? 64 : 32);
    for (int i = 0; i < 4; i++) {
        bool later_hybrid = (i & 1) == 0;
        const struct offer later = {.methods = later_hybrid ? HYBRID STRICT_OFFER : CURVE25519};
        client_whole_exchange(&rig, &client, &later, later_hybrid);
        ck_assert_uint_eq(client.secrets.h_bytes, later_hybrid ? 64 : 32);
        ck_assert_uint_eq(client.secrets.session_id_bytes, id_bytes);
        expect_session_id();
        ck_assert_int_eq(rig.connection->in.sequence == 0, strict);
        expect_ping_pong();
    }
}

TEST(each_exchange_has_its_own_key_pair)
{
    const struct offer offer = {.methods = PLAIN_OFFER};
    uint8_t first[32];
    client_whole_exchange(&rig, &client, &offer, false);
    memcpy(first, client.q_s, sizeof(first));
    ck_assert(!rig.connection->kex.key_ready);
    kex_prepare(rig.connection);
    ck_assert(rig.connection->kex.key_ready);
    client_whole_exchange(&rig, &client, &offer, false);
    ck_assert_mem_ne(first, client.q_s, sizeof(first));
}

TEST(secrets_are_wiped)
{
    static const uint8_t zero[64];
    const struct offer offer = {.methods = PLAIN_OFFER};
    client_whole_exchange(&rig, &client, &offer, false);
    const struct kex *kex = &rig.connection->kex;
    ck_assert_mem_eq(kex->client_key, zero, sizeof(kex->client_key));
    ck_assert_mem_eq(&kex->key, zero, sizeof(kex->key));
}

/* ---- refused --------------------------------------------------------------------------------- */

TEST_EACH(low_order_points, 4)
{
    static const struct offer curve = {.methods = CURVE25519}, sntrup = {.methods = HYBRID};
    bool hybrid = _i >= 2;
    uint8_t q_c[1190];
    memset(q_c, 9, sizeof(q_c));
    memset(q_c + (hybrid ? 1158 : 0), 0, 32);
    q_c[hybrid ? 1158 : 0] = (uint8_t)(_i & 1);
    client_kexinit(&rig, &client, hybrid ? &sntrup : &curve);
    rig_send(&rig, SSH_MSG_KEX_ECDH_INIT, "d", q_c, (size_t)(hybrid ? 1190 : 32));
    rig_expect_refusal(&rig, SSH_DISCONNECT_KEY_EXCHANGE_FAILED, "low order");
    ck_assert_uint_eq(rig.connection->kex.session_id_bytes, 0);
    rig_expect_no_request(&rig);
}

TEST_EACH(wrong_sizes_of_q_c, 16)
{
    static const size_t sizes[] = {0, 1, 31, 33, 1158, 1189, 1191, 2000};
    static const struct offer curve = {.methods = CURVE25519}, sntrup = {.methods = HYBRID};
    static const uint8_t q_c[2000] = {9};
    client_kexinit(&rig, &client, _i >= 8 ? &sntrup : &curve);
    rig_send(&rig, SSH_MSG_KEX_ECDH_INIT, "d", q_c, sizes[_i % 8]);
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "malformed KEX_ECDH_INIT");
    rig_expect_no_request(&rig);
}

TEST_EACH(trailing_bytes, 2)
{
    static const uint8_t q_c[32] = {9};
    const struct offer offer = {.methods = CURVE25519};
    client_kexinit(&rig, &client, &offer);
    if (_i == 0) {
        rig_send(&rig, SSH_MSG_KEX_ECDH_INIT, "db", q_c, sizeof(q_c), 0);
        rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "malformed KEX_ECDH_INIT");
    } else {
        client_exchange(&rig, &client, false);
        rig_send(&rig, SSH_MSG_NEWKEYS, "b", 0);
        rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "malformed NEWKEYS");
        ck_assert(!rig.connection->in.sealed);
    }
}

/* Nothing but the next expected message in the first exchange, for any client. */
TEST_EACH(the_first_exchange_is_strict, 15)
{
    static const int numbers[] = {SSH_MSG_IGNORE, SSH_MSG_DEBUG, SSH_MSG_UNIMPLEMENTED,
                                  SSH_MSG_KEXINIT, 200};
    const struct offer offer = {.methods = CURVE25519};
    if (_i / 5 >= 1) {
        client_kexinit(&rig, &client, &offer);
    }
    if (_i / 5 >= 2) {
        client_exchange(&rig, &client, false);
    }
    if (_i / 5 == 0 && numbers[_i % 5] == SSH_MSG_KEXINIT) {
        return;
    }
    rig_send(&rig, numbers[_i % 5], "s", "");
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "is not allowed");
}

TEST(no_signature_no_reply)
{
    static const uint8_t q_c[32] = {9};
    const struct offer offer = {.methods = CURVE25519};
    client_kexinit(&rig, &client, &offer);
    close(rig.monitor);
    rig.monitor = -1;
    rig_send(&rig, SSH_MSG_KEX_ECDH_INIT, "d", q_c, sizeof(q_c));
    rig_expect_failed(&rig, "the monitor is gone");
    ck_assert_int_eq(rig.connection->phase, SSH_PHASE_ENDED);
}

/* ---- when it is due -------------------------------------------------------------------------- */

enum { AFTER_IN_PACKETS, AFTER_OUT_PACKETS, AFTER_IN_BYTES, AFTER_OUT_BYTES, AFTER_TIME, LIMITS };

TEST_EACH(due_after_packets_bytes_and_time, LIMITS)
{
    const struct offer offer = {.methods = PLAIN_OFFER};
    client_whole_exchange(&rig, &client, &offer, false);
    struct connection *connection = rig.connection;
    connection->kex.since_ms = 5000;
    connection->now_ms = connection->times.read_ms = 5000 + rekey_after_ms - 1;
    connection->in.packets = connection->out.packets = rekey_after_packets - 1;
    connection->in.bytes = connection->out.bytes = rekey_after_bytes - 1;
    kex_rekey_if_due(connection);
    ck_assert(!connection->kex.sent);
    connection->in.packets += _i == AFTER_IN_PACKETS;
    connection->out.packets += _i == AFTER_OUT_PACKETS;
    connection->in.bytes += _i == AFTER_IN_BYTES;
    connection->out.bytes += _i == AFTER_OUT_BYTES;
    if (_i == AFTER_TIME) {
        connection->times.read_ms = ++connection->now_ms;
    }
    static const enum ssh_phase never[] = {
        SSH_PHASE_KEXINIT,    SSH_PHASE_ECDH,        SSH_PHASE_NEWKEYS,
        SSH_PHASE_REKEY_ECDH, SSH_PHASE_REKEY_GUESS, SSH_PHASE_REKEY_NEWKEYS,
        SSH_PHASE_ENDED,      SSH_PHASE_SERVICE,     SSH_PHASE_AUTH};
    for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
        connection->phase = never[i];
        kex_rekey_if_due(connection);
        rig_expect_silence(&rig);
    }
    connection->phase = SSH_PHASE_OPEN;
    kex_rekey_if_due(connection);
    kex_rekey_if_due(connection);
    client_hear_kexinit(&rig, &client);
    rig_expect_silence(&rig);
    client_say_kexinit(&rig, &client, &offer);
    client_exchange(&rig, &client, false);
    client_newkeys(&rig, &client, false);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
    ck_assert_uint_eq(connection->kex.since_ms, connection->now_ms);
    ck_assert_uint_eq(connection->in.bytes + connection->out.bytes, 0);
    expect_ping_pong();
}

/* Output of ours, or a wakeup for another reason, starts none: the client may be asleep. Nor is
 * there one after another that no packet of the client's has followed. */
TEST(a_silent_client_is_not_disturbed)
{
    const struct offer offer = {.methods = PLAIN_OFFER};
    client_whole_exchange(&rig, &client, &offer, false);
    struct connection *connection = rig.connection;
    connection->phase = SSH_PHASE_OPEN;
    connection->now_ms = connection->kex.since_ms + 10 * rekey_after_ms;
    connection->times.read_ms = connection->now_ms;
    kex_rekey_if_due(connection);
    rig_expect_silence(&rig);
    rig_send(&rig, SSH_MSG_PING, "s", "");
    rig_hear(&rig, SSH_MSG_PONG);
    connection->now_ms++;
    kex_rekey_if_due(connection);
    rig_expect_silence(&rig);
    connection->times.read_ms = connection->now_ms;
    kex_rekey_if_due(connection);
    client_hear_kexinit(&rig, &client);
}

/* A client that does not answer our KEXINIT, or never sends NEWKEYS, brings no number to wrap. */
TEST_EACH(no_key_seals_too_many_packets, 4)
{
    struct connection *connection = rig.connection;
    struct packet_direction *direction = _i % 2 == 0 ? &connection->in : &connection->out;
    connection->phase = _i < 2 ? SSH_PHASE_OPEN : SSH_PHASE_REKEY_NEWKEYS;
    connection->kex.sent = true;
    direction->packets = LIMIT_KEY_PACKETS - 1;
    kex_rekey_if_due(connection);
    rig_expect_silence(&rig);
    direction->packets++;
    kex_rekey_if_due(connection);
    rig_expect(&rig, SSH_MSG_DISCONNECT, "uss", SSH_DISCONNECT_KEY_EXCHANGE_FAILED,
               "too many packets without new keys", "");
    rig_expect_left(&rig, "too many packets without new keys");
}
