/* Our host keys as the client sees them: K_S, the announcement, the proofs. */
#include "net.h"
#include "transport.h"

#include <string.h>

#include "client.h"
#include "unit.h"

static struct rig rig;
static struct client client;
static uint8_t first[32], second[32], third[32];

static void start(void)
{
    client_know_random();
    rig_open(&rig, SSH_PHASE_OPEN);
    client_open(&rig, &client);
    memset(second, 2, sizeof(second));
    memset(third, 3, sizeof(third));
    struct host_keys *keys = &rig.connection->host_keys;
    memcpy(first, keys->public_keys[0], sizeof(first));
    keys->count = 2;
    memcpy(keys->public_keys[1], second, 32);
}

UNIT_FIXTURE(start, NULL);

/* ---- the announcement ------------------------------------------------------------------------ */

TEST(announces_what_there_is)
{
    hostkeys_announce(rig.connection);
    rig_expect(&rig, SSH_MSG_GLOBAL_REQUEST, "sbkk", "hostkeys-00@openssh.com", 0, first, second);
    rig.connection->host_keys.count = 1;
    hostkeys_announce(rig.connection);
    rig_expect(&rig, SSH_MSG_GLOBAL_REQUEST, "sbk", "hostkeys-00@openssh.com", 0, first);
    rig.connection->host_keys.count = 0;
    hostkeys_announce(rig.connection);
    rig_expect_silence(&rig);
}

/* ---- proofs ---------------------------------------------------------------------------------- */

static void lay_out_proof(uint8_t byte)
{
    struct ipc_prove_reply reply = {.type = IPC_PROVE};
    memset(reply.signature, byte, sizeof(reply.signature));
    rig_reply(&rig, &reply, sizeof(reply));
}

static void expect_asked(uint32_t key)
{
    struct ipc_prove request;
    ck_assert_uint_eq(rig_request(&rig, IPC_PROVE, &request, sizeof(request)), sizeof(request));
    ck_assert_uint_eq(request.key, key);
}

static const uint8_t *signature_of(uint8_t byte)
{
    static uint8_t blobs[2][WIRE_ROOM];
    uint8_t bytes[64];
    memset(bytes, byte, sizeof(bytes));
    ck_assert_uint_eq(wire_pack(blobs[byte % 2], "sd", "ssh-ed25519", bytes, sizeof(bytes)), 83);
    return blobs[byte % 2];
}

TEST(proves_both)
{
    lay_out_proof(4);
    lay_out_proof(5);
    rig_say(&rig, SSH_MSG_GLOBAL_REQUEST, "sbkk", HOSTKEYS_PROVE, 1, second, first);
    expect_asked(1);
    expect_asked(0);
    rig_expect(&rig, SSH_MSG_REQUEST_SUCCESS, "dd", signature_of(4), (size_t)83, signature_of(5),
               (size_t)83);
    rig_expect_alive(&rig, SSH_PHASE_OPEN);
}

TEST(only_ours)
{
    rig_say(&rig, SSH_MSG_GLOBAL_REQUEST, "sbkk", HOSTKEYS_PROVE, 1, first, third);
    rig_expect(&rig, SSH_MSG_REQUEST_FAILURE, "");
    rig_say(&rig, SSH_MSG_GLOBAL_REQUEST, "sb(sd)", HOSTKEYS_PROVE, 1, "ssh-ed25518", first,
            sizeof(first));
    rig_expect(&rig, SSH_MSG_REQUEST_FAILURE, "");
    rig_say(&rig, SSH_MSG_GLOBAL_REQUEST, "sbs", HOSTKEYS_PROVE, 1, "");
    rig_expect(&rig, SSH_MSG_REQUEST_FAILURE, "");
    rig_say(&rig, SSH_MSG_GLOBAL_REQUEST, "sb", HOSTKEYS_PROVE, 1);
    rig_expect(&rig, SSH_MSG_REQUEST_FAILURE, "");
    rig.connection->host_keys.count = 1;
    rig_say(&rig, SSH_MSG_GLOBAL_REQUEST, "sbk", HOSTKEYS_PROVE, 1, second);
    rig_expect(&rig, SSH_MSG_REQUEST_FAILURE, "");
    rig_say(&rig, SSH_MSG_GLOBAL_REQUEST, "sbk", HOSTKEYS_PROVE, 0, first);
    rig_expect_silence(&rig);
    rig_expect_no_request(&rig);
    rig_say(&rig, SSH_MSG_GLOBAL_REQUEST, "sbkb", HOSTKEYS_PROVE, 1, first, 0);
    rig_expect_refusal(&rig, SSH_DISCONNECT_PROTOCOL_ERROR, "malformed " HOSTKEYS_PROVE);
    rig_expect_no_request(&rig);
}

TEST(each_only_so_often)
{
    for (uint32_t i = 0; i < LIMIT_HOSTKEY_PROOFS; i++) {
        lay_out_proof(4);
        rig_say(&rig, SSH_MSG_GLOBAL_REQUEST, "sbk", HOSTKEYS_PROVE, 1, first);
        expect_asked(0);
        rig_expect(&rig, SSH_MSG_REQUEST_SUCCESS, "d", signature_of(4), (size_t)83);
    }
    rig_say(&rig, SSH_MSG_GLOBAL_REQUEST, "sbkk", HOSTKEYS_PROVE, 1, second, first);
    rig_expect(&rig, SSH_MSG_REQUEST_FAILURE, "");
    rig_expect_no_request(&rig);
    lay_out_proof(5);
    rig_say(&rig, SSH_MSG_GLOBAL_REQUEST, "sbk", HOSTKEYS_PROVE, 1, second);
    rig_expect(&rig, SSH_MSG_REQUEST_SUCCESS, "d", signature_of(5), (size_t)83);
}

/* ---- K_S ------------------------------------------------------------------------------------- */

static void set_certificate(void)
{
    rig.connection->host_keys.certificate_bytes = 300;
    memset(rig.connection->certificate, 0x77, 300);
}

TEST(the_certificate_is_k_s)
{
    static struct {
        struct ipc_sign sign;
        uint8_t tail[WIRE_ROOM];
    } request;
    static const uint8_t q_c[32] = {9};
    const struct offer offer = {.methods = CURVE25519,
                                .host_keys = "ssh-ed25519-cert-v01@openssh.com"};
    const struct ipc_sign_reply reply = {.type = IPC_SIGN, .hash_bytes = 32};
    rig_reset(&rig, SSH_PHASE_KEXINIT);
    client_open(&rig, &client);
    set_certificate();
    client_kexinit(&rig, &client, &offer);
    rig_reply(&rig, &reply, sizeof(reply));
    rig_send(&rig, SSH_MSG_KEX_ECDH_INIT, "d", q_c, sizeof(q_c));
    struct reader answer = rig_hear(&rig, SSH_MSG_KEX_ECDH_REPLY);
    const uint8_t *k_s = reader_string_of(&answer, 300);
    ck_assert_mem_eq(k_s, rig.connection->certificate, 300);
    reader_string(&answer);
    struct reader signature = reader_string(&answer);
    ck_assert(reader_end(&answer));
    struct reader name = reader_string(&signature);
    ck_assert(reader_is(&name, "ssh-ed25519"));
    rig_request(&rig, IPC_SIGN, &request, sizeof(request));
    ck_assert_uint_eq(request.sign.certified, 1);
    ck_assert(rig.connection->kex.first_certified);
}

static struct reader blob_of(const uint8_t key[static 32])
{
    static uint8_t blob[WIRE_ROOM];
    return reader_over(blob, wire_pack(blob, "sd", "ssh-ed25519", key, (size_t)32));
}

TEST(logins_are_bound_to_the_first_k_s)
{
    struct connection *connection = rig.connection;
    const uint8_t *certificate = connection->certificate;
    set_certificate();
    ck_assert(hostkeys_is_bound(connection, blob_of(first)));
    ck_assert(!hostkeys_is_bound(connection, blob_of(second)));
    ck_assert(!hostkeys_is_bound(connection, reader_over(certificate, 300)));
    ck_assert(!hostkeys_is_bound(connection, reader_over(certificate, 0)));
    connection->kex.first_certified = true;
    ck_assert(!hostkeys_is_bound(connection, blob_of(first)));
    ck_assert(hostkeys_is_bound(connection, reader_over(certificate, 300)));
    ck_assert(!hostkeys_is_bound(connection, reader_over(certificate, 299)));
}
