/*
 *     client: KEX_ECDH_INIT     Q_C
 *     server: KEX_ECDH_REPLY    K_S, Q_S, signature of H by the host key
 *             NEWKEYS           and in the first exchange EXT_INFO (RFC 8308)
 *     client: NEWKEYS
 *
 *     H          = HASH(V_C || V_S || I_C || I_S || K_S || Q_C || Q_S || K)
 *     session_id = H of the first exchange
 *     key        = HASH(K || H || letter || session_id), and further blocks
 *
 * agree.c has Q_S and K of both methods. The monitor makes H and its signature: monitor/sign.c.
 */
#include "net.h"

#include <sodium.h>

#include "ask.h"

/* The values of one exchange; wiped when the handler of KEX_ECDH_INIT returns. */
struct exchange {
    const uint8_t *q_c;
    size_t q_c_bytes;
    size_t q_s_bytes;
    uint8_t q_s[AGREE_HYBRID_SERVER_BYTES];
    uint8_t secret[AGREE_HYBRID_SECRET_BYTES]; /* K; curve25519 fills only the first half */
    struct ipc_sign_reply made;                /* H and its signature */
    uint8_t server_key[CHACHAPOLY_KEY_BYTES];
};

void kex_prepare(struct connection *connection)
{
    struct kex *kex = &connection->kex;
    if (!kex->key_ready) {
        uint8_t random[AGREE_X25519_BYTES];
        randombytes_buf(random, sizeof(random));
        agree_x25519_key(&kex->key, random);
        sodium_memzero(random, sizeof(random));
        kex->key_ready = true;
    }
}

void kex_rekey_if_due(struct connection *connection)
{
    const struct kex *kex = &connection->kex;
    const struct packet_direction *in = &connection->in, *out = &connection->out;
    uint32_t packets = in->packets > out->packets ? in->packets : out->packets;
    /* A client that has just sent a packet is awake. */
    bool awake = in->packets > 0 && connection->times.read_ms == connection->now_ms;
    bool due = in->bytes >= rekey_after_bytes || out->bytes >= rekey_after_bytes ||
               packets >= rekey_after_packets ||
               (awake && connection->now_ms - kex->since_ms >= rekey_after_ms);
    if (packets >= LIMIT_KEY_PACKETS) {
        connection_refuse(connection, SSH_DISCONNECT_KEY_EXCHANGE_FAILED,
                          "too many packets without new keys");
    } else if (connection->phase == SSH_PHASE_OPEN && due && !kex->sent) {
        kexinit_send(connection);
    }
}

enum ssh_phase kex_on_wrong_guess(struct connection *connection, struct reader *message)
{
    (void)message;
    return connection->phase == SSH_PHASE_GUESS ? SSH_PHASE_ECDH : SSH_PHASE_REKEY_ECDH;
}

/* ---- K and Q_S ------------------------------------------------------------------------------- */

static bool agree_on_hybrid(const struct agree_key *key, struct exchange *exchange)
{
    uint8_t seed[SNTRUP761_SEED_BYTES], random[SNTRUP761_RANDOM_BYTES];
    randombytes_buf(seed, sizeof(seed));
    sntrup761_random(random, seed);
    bool agreed = agree_hybrid(exchange->secret, exchange->q_s, key, exchange->q_c, random);
    sodium_memzero(seed, sizeof(seed));
    sodium_memzero(random, sizeof(random));
    return agreed;
}

static bool agree_on_secret(struct connection *connection, struct exchange *exchange)
{
    struct kex *kex = &connection->kex;
    bool agreed;
    kex_prepare(connection);
    if (kex->hybrid) {
        agreed = agree_on_hybrid(&kex->key, exchange);
    } else {
        agreed = agree_x25519(exchange->secret, &kex->key, exchange->q_c);
        memcpy(exchange->q_s, kex->key.public_key, AGREE_X25519_BYTES);
    }
    sodium_memzero(&kex->key, sizeof(kex->key));
    kex->key_ready = false;
    return agreed;
}

/* ---- H and the keys -------------------------------------------------------------------------- */

static bool obtain_signature(struct connection *connection, struct exchange *exchange)
{
    struct kex *kex = &connection->kex;
    if (!ask_sign(connection, exchange->secret, exchange->q_c, exchange->q_c_bytes, exchange->q_s,
                  exchange->q_s_bytes, &exchange->made)) {
        return false;
    }
    if (kex->session_id_bytes == 0) {
        memcpy(kex->session_id, exchange->made.hash, sizeof(kex->session_id));
        kex->session_id_bytes = exchange->made.hash_bytes;
        kex->first_certified = kex->certified;
    }
    return true;
}

/* RFC 4253 section 7.2:
 *
 *     K1 = HASH(K || H || letter || session_id)
 *     K2 = HASH(K || H || K1)                     if K1 is too short
 */
static void derive_key(const struct kex *kex, const struct exchange *exchange, char letter,
                       uint8_t key[static CHACHAPOLY_KEY_BYTES])
{
    struct exchange_hash hash;
    uint8_t block[HASH_MAX_BYTES];
    exchange_hash_begin(&hash, kex->hybrid);
    exchange_hash_secret(&hash, exchange->secret);
    exchange_hash_bytes(&hash, exchange->made.hash, exchange->made.hash_bytes);
    exchange_hash_bytes(&hash, &letter, 1);
    exchange_hash_bytes(&hash, kex->session_id, kex->session_id_bytes);
    size_t bytes = exchange_hash_end(&hash, block); /* K1 */
    memcpy(key, block, bytes);
    if (bytes < CHACHAPOLY_KEY_BYTES) {
        exchange_hash_begin(&hash, kex->hybrid);
        exchange_hash_secret(&hash, exchange->secret);
        exchange_hash_bytes(&hash, exchange->made.hash, exchange->made.hash_bytes);
        exchange_hash_bytes(&hash, key, bytes);
        exchange_hash_end(&hash, block); /* K2 */
        memcpy(key + bytes, block, CHACHAPOLY_KEY_BYTES - bytes);
    }
    sodium_memzero(block, sizeof(block));
}

/* ---- our reply ------------------------------------------------------------------------------- */

/* The payloads of KEX_ECDH_REPLY and NEWKEYS. EXT_INFO needs no place here: it follows only in the
 * first exchange, when no message is held back. */
#define REPLY_BYTES                                                                                \
    (1 + 4 + LIMIT_HOST_CERTIFICATE_BYTES + 4 + AGREE_HYBRID_SERVER_BYTES + 4 + 4 +                \
     sizeof(SSH_ED25519) + 4 + 64)
#define NEWKEYS_BYTES 1

_Static_assert(REPLY_BYTES + NEWKEYS_BYTES + 2 * PACKET_OVERHEAD_BYTES +
                       LIMIT_DEFERRED_SEALED_BYTES <=
                   LIMIT_REPLY_BYTES,
               "the reply and all deferred messages fit");

/* KEX_ECDH_REPLY, NEWKEYS, EXT_INFO and the messages that had to wait: the loop writes them at
 * once. */
static void send_kex_reply(struct connection *connection, const struct exchange *exchange,
                           bool first)
{
    struct kex *kex = &connection->kex;
    struct writer reply = message_begin(connection, SSH_MSG_KEX_ECDH_REPLY);
    hostkeys_write_k_s(connection, &reply);
    writer_string(&reply, exchange->q_s, exchange->q_s_bytes);
    hostkeys_write(&reply, exchange->made.signature, sizeof(exchange->made.signature));
    message_send(connection, &reply);
    struct writer newkeys = message_begin(connection, SSH_MSG_NEWKEYS);
    message_send(connection, &newkeys);
    packet_new_keys(&connection->out, exchange->server_key, kex->strict);
    kex->sent = false;
    kex->since_ms = connection->now_ms;
    if (first && kex->ext_info) {
        messages_send_ext_info(connection);
    }
    message_send_deferred(connection);
}

enum ssh_phase kex_on_ecdh_init(struct connection *connection, struct reader *message)
{
    struct kex *kex = &connection->kex;
    bool first = kex->session_id_bytes == 0;
    struct exchange exchange = {0};
    exchange.q_c_bytes = kex->hybrid ? AGREE_HYBRID_CLIENT_BYTES : AGREE_X25519_BYTES;
    exchange.q_s_bytes = kex->hybrid ? AGREE_HYBRID_SERVER_BYTES : AGREE_X25519_BYTES;
    exchange.q_c = reader_string_of(message, exchange.q_c_bytes);
    if (!reader_end(message)) {
        return messages_refuse_malformed(connection, "KEX_ECDH_INIT");
    }
    enum ssh_phase next = SSH_PHASE_ENDED;
    if (!agree_on_secret(connection, &exchange)) {
        connection_refuse(connection, SSH_DISCONNECT_KEY_EXCHANGE_FAILED,
                          "the client's X25519 point has low order");
    } else if (obtain_signature(connection, &exchange)) {
        derive_key(kex, &exchange, 'C', kex->client_key);     /* encryption, client to server */
        derive_key(kex, &exchange, 'D', exchange.server_key); /* and server to client */
        send_kex_reply(connection, &exchange, first);
        next = first ? SSH_PHASE_NEWKEYS : SSH_PHASE_REKEY_NEWKEYS;
    }
    sodium_memzero(&exchange, sizeof(exchange));
    return next;
}

enum ssh_phase kex_on_newkeys(struct connection *connection, struct reader *message)
{
    struct kex *kex = &connection->kex;
    if (!reader_end(message)) {
        return messages_refuse_malformed(connection, "NEWKEYS");
    }
    packet_new_keys(&connection->in, kex->client_key, kex->strict);
    sodium_memzero(kex->client_key, sizeof(kex->client_key));
    return connection->phase == SSH_PHASE_NEWKEYS ? SSH_PHASE_SERVICE : connection->resume;
}
