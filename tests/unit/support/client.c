#include "client.h"

#include <sodium.h>
#include <string.h>

#include "net.h"
#include "sntrup761.h"
#include "transport.h"
#include "unit.h"

/* ---- random bytes that the test knows -------------------------------------------------------- */

static uint64_t random_seed;
static uint8_t last_seed[SNTRUP761_SEED_BYTES];

static void known_random(void *const bytes, const size_t count)
{
    uint8_t seed[randombytes_SEEDBYTES] = {0};
    random_seed++;
    memcpy(seed, &random_seed, sizeof(random_seed));
    randombytes_buf_deterministic(bytes, count, seed);
    if (count == sizeof(last_seed)) {
        memcpy(last_seed, bytes, count);
    }
}

static uint32_t known_word(void)
{
    uint32_t word;
    known_random(&word, sizeof(word));
    return word;
}

static const char *random_name(void)
{
    return "known";
}

void client_know_random(void)
{
    static struct randombytes_implementation known = {
        .implementation_name = random_name, .random = known_word, .buf = known_random};
    ck_assert_int_eq(randombytes_set_implementation(&known), 0);
}

/* ---- KEXINIT --------------------------------------------------------------------------------- */

static const char *or_stock(const char *list, const char *stock)
{
    return list != NULL ? list : stock;
}

size_t offer_pack(uint8_t out[static WIRE_ROOM], const struct offer *offer)
{
    static const uint8_t cookie[16] = "client's cookie";
    return wire_pack(
        out, "brssssssssssbu", SSH_MSG_KEXINIT, cookie, sizeof(cookie),
        or_stock(offer->methods, HYBRID "," CURVE25519 ",ext-info-c,kex-strict-c-v00@openssh.com"),
        or_stock(offer->host_keys, "ssh-ed25519"),
        or_stock(offer->ciphers_up, CIPHER ",aes128-ctr"),
        or_stock(offer->ciphers_down, CIPHER ",aes128-ctr"),
        or_stock(offer->macs_up, "umac-64@openssh.com"),
        or_stock(offer->macs_down, "umac-64@openssh.com"),
        or_stock(offer->compression_up, "none,zlib"),
        or_stock(offer->compression_down, "none,zlib"), or_stock(offer->language_up, ""),
        or_stock(offer->language_down, ""), offer->packet_follows, offer->reserved);
}

void client_open(struct rig *rig, struct client *client)
{
    memset(client, 0, sizeof(*client));
    struct connection *connection = rig->connection;
    connection->client_version_bytes = strlen(CLIENT_VERSION);
    memcpy(connection->client_version, CLIENT_VERSION, sizeof(CLIENT_VERSION));
    memset(connection->host_keys.public_keys[0], 0x5a,
           sizeof(connection->host_keys.public_keys[0]));
}

void client_hear_kexinit(struct rig *rig, struct client *client)
{
    rig_hear(rig, SSH_MSG_KEXINIT);
    client->i_s_bytes = rig->heard_bytes;
    memcpy(client->i_s, rig->heard, rig->heard_bytes);
}

void client_say_kexinit(struct rig *rig, struct client *client, const struct offer *offer)
{
    client->i_c_bytes = offer_pack(client->i_c, offer);
    rig_send_bytes(rig, client->i_c, client->i_c_bytes);
}

void client_kexinit(struct rig *rig, struct client *client, const struct offer *offer)
{
    client_say_kexinit(rig, client, offer);
    client_hear_kexinit(rig, client);
}

/* ---- K, H ------------------------------------------------------------------------------------ */

static void make_q_c(struct client *client)
{
    static uint8_t counter;
    memset(client->secret, ++counter, sizeof(client->secret));
    size_t kem_bytes = client->secrets.hybrid ? SNTRUP761_PUBLIC_KEY_BYTES : 0;
    /* Any bytes are a public key. */
    for (size_t i = 0; i < kem_bytes; i++) {
        client->q_c[i] = (uint8_t)(i * 7 + counter);
    }
    crypto_scalarmult_base(client->q_c + kem_bytes, client->secret);
    client->q_c_bytes = kem_bytes + 32;
}

static void compute_k(struct client *client)
{
    struct secrets *secrets = &client->secrets;
    uint8_t both[64];
    size_t kem_bytes = secrets->hybrid ? SNTRUP761_CIPHERTEXT_BYTES : 0;
    ck_assert_uint_eq(client->q_s_bytes, kem_bytes + 32);
    ck_assert_int_eq(crypto_scalarmult(both + 32, client->secret, client->q_s + kem_bytes), 0);
    if (secrets->hybrid) {
        uint8_t ciphertext[SNTRUP761_CIPHERTEXT_BYTES], random[SNTRUP761_RANDOM_BYTES];
        sntrup761_random(random, last_seed);
        sntrup761_encapsulate(ciphertext, both, client->q_c, random);
        ck_assert_mem_eq(ciphertext, client->q_s, sizeof(ciphertext));
        crypto_hash_sha512(secrets->k, both, sizeof(both));
    } else {
        memset(secrets->k, 0, sizeof(secrets->k));
        memcpy(secrets->k, both + 32, 32);
    }
}

/* The monitor was told all that H covers and it does not know itself. */
static void expect_told(struct rig *rig, const struct client *client)
{
    static struct {
        struct ipc_sign sign;
        uint8_t tail[WIRE_ROOM];
    } request;
    static uint8_t tail[WIRE_ROOM];
    const char *version = CLIENT_VERSION;
    size_t count = rig_request(rig, IPC_SIGN, &request, sizeof(request));
    size_t tail_bytes = wire_pack(tail, "rrrrr", version, strlen(version), client->i_c,
                                  client->i_c_bytes, client->i_s, client->i_s_bytes, client->q_c,
                                  client->q_c_bytes, client->q_s, client->q_s_bytes);
    ck_assert_uint_eq(count, sizeof(request.sign) + tail_bytes);
    ck_assert_uint_eq(request.sign.hybrid, client->secrets.hybrid);
    ck_assert_uint_eq(request.sign.client_version_bytes, strlen(version));
    ck_assert_uint_eq(request.sign.client_kexinit_bytes, client->i_c_bytes);
    ck_assert_uint_eq(request.sign.server_kexinit_bytes, client->i_s_bytes);
    ck_assert_mem_eq(request.sign.secret, client->secrets.k, sizeof(client->secrets.k));
    ck_assert_mem_eq(request.tail, tail, tail_bytes);
}

/* ---- the exchange ---------------------------------------------------------------------------- */

static void take_reply(struct rig *rig, struct client *client, const struct ipc_sign_reply *said)
{
    static uint8_t k_s[WIRE_ROOM], signed_h[WIRE_ROOM];
    size_t k_s_bytes = wire_pack(k_s, "k", rig->connection->host_keys.public_keys[0]);
    size_t signed_h_bytes = wire_pack(signed_h, "(sd)", "ssh-ed25519", said->signature, (size_t)64);
    struct reader reply = rig_hear(rig, SSH_MSG_KEX_ECDH_REPLY);
    const uint8_t *said_k_s = reader_bytes(&reply, k_s_bytes);
    struct reader q_s = reader_string(&reply);
    const uint8_t *said_signed_h = reader_bytes(&reply, signed_h_bytes);
    ck_assert(reader_end(&reply) && q_s.left <= sizeof(client->q_s));
    ck_assert_mem_eq(said_k_s, k_s, k_s_bytes);
    ck_assert_mem_eq(said_signed_h, signed_h, signed_h_bytes);
    client->q_s_bytes = q_s.left;
    memcpy(client->q_s, q_s.bytes, q_s.left);
    compute_k(client);
    /* H is what the monitor says. */
    secrets_keep_h(&client->secrets, said->hash, said->hash_bytes);
    secrets_key(&client->secrets, 'C', client->key_up);
    secrets_key(&client->secrets, 'D', client->key_down);
}

void client_exchange(struct rig *rig, struct client *client, bool hybrid)
{
    struct ipc_sign_reply reply = {.type = IPC_SIGN, .hash_bytes = hybrid ? 64 : 32};
    randombytes_buf(reply.hash, reply.hash_bytes);
    randombytes_buf(reply.signature, sizeof(reply.signature));
    rig_reply(rig, &reply, sizeof(reply));
    client->secrets.hybrid = hybrid;
    make_q_c(client);
    rig_send(rig, SSH_MSG_KEX_ECDH_INIT, "d", client->q_c, client->q_c_bytes);
    take_reply(rig, client, &reply);
    expect_told(rig, client);
    rig_expect(rig, SSH_MSG_NEWKEYS, "");
    rig->down.sealed = true;
    memcpy(rig->down.key, client->key_down, sizeof(client->key_down));
    if (rig->connection->kex.strict) {
        rig->down.sequence = 0;
    }
}

void client_newkeys(struct rig *rig, struct client *client, bool strict)
{
    rig_send(rig, SSH_MSG_NEWKEYS, "");
    rig->up.sealed = true;
    memcpy(rig->up.key, client->key_up, sizeof(client->key_up));
    if (strict) {
        rig->up.sequence = 0;
    }
}

void client_whole_exchange(struct rig *rig, struct client *client, const struct offer *offer,
                           bool hybrid)
{
    client_kexinit(rig, client, offer);
    client_exchange(rig, client, hybrid);
    client_newkeys(rig, client, rig->connection->kex.strict);
}
