/*
 * Q_C, Q_S: public values    K: shared secret    K_S: the host key's blob
 * H = HASH(V_C || V_S || I_C || I_S || K_S || Q_C || Q_S || K), signed by the host key
 */
#include "exchange.h"

#include <sodium.h>
#include <string.h>

#include "client.h"
#include "fail.h"

/* What H covers, if a key or certificate of the server fills a packet. */
#define HASHED_BYTES (LIMIT_PACKET_BYTES + LIMIT_CLIENT_KEXINIT_BYTES + 4096)

/* ---- our values ------------------------------------------------------------------------------ */

void exchange_prepare(struct client *client)
{
    struct exchange *exchange = &client->exchange;
    uint8_t random[AGREE_X25519_BYTES];
    if (exchange->ready) {
        return;
    }
    randombytes_buf(random, sizeof(random));
    agree_x25519_key(&exchange->x25519, random);
    if (client->options->offer.methods[0].hybrid) {
        sntrup761_key_make(&exchange->sntrup761);
    }
    exchange->ready = true;
}

static void send_ecdh_init(struct client *client, const struct method *method)
{
    struct exchange *exchange = &client->exchange;
    struct fields q_c = FIELDS_IN(exchange->q_c);
    if (method->hybrid) {
        fields_bytes(&q_c, exchange->sntrup761.public_key, sizeof(exchange->sntrup761.public_key));
    }
    fields_bytes(&q_c, exchange->x25519.public_key, sizeof(exchange->x25519.public_key));
    exchange->q_c_bytes = q_c.used;
    link_say(&client->link, "bd", SSH_MSG_KEX_ECDH_INIT, exchange->q_c, exchange->q_c_bytes);
    if (exchange->secrets.session_id_bytes == 0) {
        timeline_ask(&client->timeline, QUESTION_EXCHANGE);
    }
}

static void send_kexinit(struct client *client, bool guess)
{
    struct exchange *exchange = &client->exchange;
    bool first = exchange->secrets.session_id_bytes == 0;
    exchange->i_c_bytes = offer_write(&client->options->offer, first, guess, exchange->i_c);
    link_say(&client->link, "r", exchange->i_c, exchange->i_c_bytes);
    exchange->asked = exchange->running = true;
}

void exchange_start(struct client *client)
{
    struct exchange *exchange = &client->exchange;
    bool first = exchange->secrets.session_id_bytes == 0;
    exchange->guessed = !client->options->polite && (first || exchange->lucky);
    exchange_prepare(client);
    send_kexinit(client, exchange->guessed);
    if (exchange->guessed) {
        send_ecdh_init(client, &client->options->offer.methods[0]);
    }
}

/* ---- KEXINIT --------------------------------------------------------------------------------- */

static void keep_i_s(struct exchange *exchange, const struct reader *message)
{
    /* The message number stands right before the message's body. */
    exchange->i_s_bytes = message->left + 1;
    if (exchange->i_s_bytes > sizeof(exchange->i_s)) {
        fail("key exchange", "the server's KEXINIT is too long");
    }
    memcpy(exchange->i_s, message->bytes - 1, exchange->i_s_bytes);
}

void exchange_on_kexinit(struct client *client, struct reader *message)
{
    struct exchange *exchange = &client->exchange;
    bool first = exchange->secrets.session_id_bytes == 0;
    struct settlement settlement;
    if (exchange->answered) {
        fail("key exchange", "a second KEXINIT from the server");
    }
    const char *wrong = offer_settle(&client->options->offer, *message, &settlement);
    if (wrong != NULL) {
        fail("key exchange", "%s", wrong);
    }
    exchange->answered = true;
    exchange->method = settlement.method;
    exchange->secrets.hybrid = settlement.method->hybrid;
    keep_i_s(exchange, message);
    if (first && settlement.strict && client->link.in.packets != 1) {
        fail("key exchange", "the server's KEXINIT is not its first packet");
    }
    if (first) {
        timeline_mark(&client->timeline, MARK_KEXINIT);
        timeline_answer(&client->timeline, QUESTION_GREETING);
        exchange->strict = settlement.strict;
        exchange->lucky = settlement.guess_right;
    }
    if (!exchange->running) { /* the server has started it */
        exchange_prepare(client);
        send_kexinit(client, false);
        exchange->guessed = false;
    }
    if (!exchange->guessed || !settlement.guess_right) {
        send_ecdh_init(client, exchange->method);
    }
}

/* ---- ECDH_REPLY ------------------------------------------------------------------------------ */

static bool agree(struct exchange *exchange, const struct reader *q_s)
{
    uint8_t both[SNTRUP761_SECRET_BYTES + AGREE_X25519_BYTES];
    uint8_t *k = exchange->secrets.k;
    memset(k, 0, sizeof(exchange->secrets.k));
    if (!exchange->secrets.hybrid) {
        return q_s->left == AGREE_X25519_BYTES && agree_x25519(k, &exchange->x25519, q_s->bytes);
    }
    if (q_s->left != AGREE_HYBRID_SERVER_BYTES ||
        !sntrup761_key_decapsulate(both, &exchange->sntrup761, q_s->bytes) ||
        !agree_x25519(both + SNTRUP761_SECRET_BYTES, &exchange->x25519,
                      q_s->bytes + SNTRUP761_CIPHERTEXT_BYTES)) {
        return false;
    }
    crypto_hash_sha512(k, both, sizeof(both));
    return true;
}

static size_t hash_exchange(const struct client *client, const struct reader *k_s,
                            const struct reader *q_s, uint8_t h[static 64])
{
    static uint8_t bytes[HASHED_BYTES];
    const struct exchange *exchange = &client->exchange;
    struct fields hashed = FIELDS_IN(bytes);
    fields_put(&hashed, "ssddddd", CLIENT_VERSION, client->server_version, exchange->i_c,
               exchange->i_c_bytes, exchange->i_s, exchange->i_s_bytes, k_s->bytes, k_s->left,
               exchange->q_c, exchange->q_c_bytes, q_s->bytes, q_s->left);
    secrets_put_k(&hashed, exchange->secrets.hybrid, exchange->secrets.k);
    return secrets_hash(exchange->secrets.hybrid, bytes, hashed.used, h);
}

/* Both blobs are string "ssh-ed25519" and a string of fixed size (RFC 8709 sections 4 and 6). */
static const uint8_t *ed25519_part(struct reader blob, size_t bytes)
{
    struct reader type = reader_string(&blob);
    const uint8_t *part = reader_string_of(&blob, bytes);
    return reader_is(&type, "ssh-ed25519") && reader_end(&blob) ? part : NULL;
}

static void check_host(const struct client *client, const struct reader *k_s,
                       const struct reader *signature, const uint8_t *h, size_t h_bytes)
{
    const struct options *options = client->options;
    const uint8_t *host_key = ed25519_part(*k_s, 32);
    const uint8_t *signed_h = ed25519_part(*signature, 64);
    if (host_key == NULL || signed_h == NULL) {
        fail("key exchange", "the host key or its signature is malformed");
    }
    if (!options->any_host_key && memcmp(host_key, options->host_key, 32) != 0) {
        fail("key exchange", "the server has another host key than --host-key names");
    }
    if (crypto_sign_verify_detached(signed_h, h, h_bytes, host_key) != 0) {
        fail("key exchange", "the host key's signature is wrong");
    }
}

void exchange_on_reply(struct client *client, struct reader *message)
{
    struct exchange *exchange = &client->exchange;
    struct secrets *secrets = &exchange->secrets;
    uint8_t h[64], client_key[CHACHAPOLY_KEY_BYTES];
    struct reader k_s = reader_string(message);
    struct reader q_s = reader_string(message);
    struct reader signature = reader_string(message);
    if (!reader_end(message) || !exchange->answered || !exchange->asked) {
        fail("key exchange", "the server's reply is malformed or comes at the wrong time");
    }
    if (!agree(exchange, &q_s)) {
        fail("key exchange", "the server's public value does not fit ours");
    }
    size_t h_bytes = hash_exchange(client, &k_s, &q_s, h);
    check_host(client, &k_s, &signature, h, h_bytes);
    if (secrets->session_id_bytes == 0) {
        timeline_mark(&client->timeline, MARK_KEX_REPLY);
        timeline_answer(&client->timeline, QUESTION_EXCHANGE);
    }
    secrets_keep_h(secrets, h, h_bytes);
    secrets_key(secrets, 'C', client_key);
    secrets_key(secrets, 'D', exchange->server_key);
    link_say(&client->link, "b", SSH_MSG_NEWKEYS);
    packet_new_keys(&client->link.out, client_key, exchange->strict);
    exchange->asked = exchange->ready = false;
    sodium_memzero(secrets->k, sizeof(secrets->k));
}

void exchange_on_newkeys(struct client *client, struct reader *message)
{
    struct exchange *exchange = &client->exchange;
    if (!reader_end(message) || !exchange->running || exchange->asked) {
        fail("key exchange", "NEWKEYS is malformed or comes at the wrong time");
    }
    packet_new_keys(&client->link.in, exchange->server_key, exchange->strict);
    timeline_mark(&client->timeline, MARK_NEWKEYS);
    exchange->running = exchange->answered = false;
    exchange->finished++;
}
