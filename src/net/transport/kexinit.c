/*
 *     byte         SSH_MSG_KEXINIT
 *     byte[16]     cookie
 *     name-list    kex_algorithms                  strict key exchange and EXT_INFO, too
 *     name-list    server_host_key_algorithms
 *     name-list    encryption, MAC, compression, languages: each from client to server, then back
 *     boolean      first_kex_packet_follows
 *     uint32       0
 *
 * From kex_algorithms and server_host_key_algorithms the first name of the client's that we have is
 * chosen. The guess of a client that has sent the next packet already is right if its first names
 * in both are also ours.
 */
#include "net.h"

#include <sodium.h>
#include <stdio.h>

#include "ask.h"
#include "log.h"

#define STRICT_SERVER "kex-strict-s-v00@openssh.com"
#define STRICT_CLIENT "kex-strict-c-v00@openssh.com"

/* The kinds of name-lists, in the order of the wire, where those from CIPHER on stand twice: for
 * the client's direction, then for ours. */
enum kind { METHOD, HOST_KEY, CIPHER, MAC, COMPRESSION, LANGUAGE, KINDS };

#define LISTS (2 * KINDS - CIPHER)

/* What an offer depends on. */
enum need {
    NOTHING,
    SNTRUP,      /* a method of sntrup761 and X25519 with SHA-512: not with -P */
    CURVE25519,  /* a method of X25519 with SHA-256: not with -S */
    CERTIFICATE, /* we have a host certificate */
};

/* In each kind our order matters only for the guess. */
static const struct offer {
    uint8_t kind;
    uint8_t need;
    char name[sizeof("sntrup761x25519-sha512@openssh.com")];
} offers[] = {
    {METHOD, SNTRUP, "sntrup761x25519-sha512"},
    {METHOD, SNTRUP, "sntrup761x25519-sha512@openssh.com"},
    {METHOD, CURVE25519, "curve25519-sha256"},
    {METHOD, CURVE25519, "curve25519-sha256@libssh.org"},
    {HOST_KEY, CERTIFICATE, SSH_ED25519_CERT},
    {HOST_KEY, NOTHING, SSH_ED25519},
    {CIPHER, NOTHING, "chacha20-poly1305@openssh.com"},
    /* Some clients refuse an empty list. Auditing tools accept this name. */
    {MAC, NOTHING, "hmac-sha2-256-etm@openssh.com"},
    {COMPRESSION, NOTHING, "none"},
};

#define OFFERS (sizeof(offers) / sizeof(offers[0]))

/* The kinds in which the client must offer a name of ours. No MAC is required, as the cipher
 * authenticates. Languages are ignored. */
static const char required[KINDS][sizeof("key exchange method")] = {
    [METHOD] = "key exchange method",
    [HOST_KEY] = "host key algorithm",
    [CIPHER] = "cipher",
    [COMPRESSION] = "compression",
};

static enum kind kind_of(size_t list)
{
    return (enum kind)(list < CIPHER ? list : (list + CIPHER) / 2);
}

static bool is_first_exchange(const struct connection *connection)
{
    return connection->kex.session_id_bytes == 0;
}

static bool is_offered(const struct connection *connection, const struct offer *offer)
{
    const bool lacking[] = {[NOTHING] = false,
                            [SNTRUP] = connection->options->no_sntrup,
                            [CURVE25519] = connection->options->no_curve25519,
                            [CERTIFICATE] = connection->host_keys.certificate_bytes == 0};
    return !lacking[offer->need];
}

/* ---- ours ------------------------------------------------------------------------------------ */

static void write_list(const struct connection *connection, struct writer *message, enum kind kind)
{
    size_t mark = writer_string_begin(message);
    const char *separator = "";
    for (size_t i = 0; i < OFFERS; i++) {
        if (offers[i].kind == kind && is_offered(connection, &offers[i])) {
            writer_bytes(message, separator, strlen(separator));
            writer_bytes(message, offers[i].name, strlen(offers[i].name));
            separator = ",";
        }
    }
    if (kind == METHOD && is_first_exchange(connection)) {
        writer_bytes(message, "," STRICT_SERVER, strlen("," STRICT_SERVER));
    }
    writer_string_end(message, mark);
}

void kexinit_send(struct connection *connection)
{
    struct kex *kex = &connection->kex;
    uint8_t *kexinit = connection->buffers.kex.server_kexinit;
    if (!is_first_exchange(connection)) {
        randombytes_buf(kex->cookie, sizeof(kex->cookie));
    }

    struct writer own; /* I_S */
    writer_init(&own, kexinit, sizeof(connection->buffers.kex.server_kexinit));
    writer_u8(&own, SSH_MSG_KEXINIT);
    writer_bytes(&own, kex->cookie, sizeof(kex->cookie));
    for (size_t i = 0; i < LISTS; i++) {
        write_list(connection, &own, kind_of(i));
    }
    writer_bool(&own, false);
    writer_u32(&own, 0);
    if (own.failed) {
        connection_fail(connection, "KEXINIT does not fit its buffer");
        return;
    }
    kex->server_kexinit_bytes = own.used;

    kex->sent = true;
    struct writer message = message_begin(connection, SSH_MSG_KEXINIT);
    writer_bytes(&message, kexinit + 1, kex->server_kexinit_bytes - 1);
    message_send(connection, &message);
}

/* ---- theirs ---------------------------------------------------------------------------------- */

static bool list_has(struct reader list, const char *wanted)
{
    struct reader name;
    while (reader_name(&list, &name)) {
        if (reader_is(&name, wanted)) {
            return true;
        }
    }
    return false;
}

/* Our first offer of this kind, of this name unless that is NULL; or NULL. */
static const struct offer *find_offer(const struct connection *connection, enum kind kind,
                                      const struct reader *name)
{
    for (size_t i = 0; i < OFFERS; i++) {
        if (offers[i].kind == kind && is_offered(connection, &offers[i]) &&
            (name == NULL || reader_is(name, offers[i].name))) {
            return &offers[i];
        }
    }
    return NULL;
}

/* The meaning of the client's first name that we offer, too; or NULL. */
static const struct offer *choose(const struct connection *connection, enum kind kind,
                                  struct reader list)
{
    const struct offer *offer = NULL;
    struct reader name;
    while (offer == NULL && reader_name(&list, &name)) {
        offer = find_offer(connection, kind, &name);
    }
    return offer;
}

/* True if the client's first name is also ours. */
static bool is_guess_right(const struct connection *connection, enum kind kind, struct reader list)
{
    struct reader name;
    const struct offer *first = find_offer(connection, kind, NULL);
    return first != NULL && reader_name(&list, &name) && reader_is(&name, first->name);
}

static void log_method(struct connection *connection, const char *method)
{
    if (connection->options->verbosity > 0) {
        char text[LIMIT_NOTE_BYTES + 1];
        snprintf(text, sizeof(text), "key exchange %s, strict %s, client %.100s", method,
                 connection->kex.strict ? "yes" : "no", connection->client_version);
        ask_note(connection, LOG_DETAIL, text);
    }
}

/* I_C is needed for H, when KEX_ECDH_INIT arrives. */
static bool keep_client_kexinit(struct connection *connection, const struct reader *message)
{
    /* I_C begins with the message number, the byte before the reader's first. */
    size_t count = message->left + 1;
    struct kex_buffers *buffers = &connection->buffers.kex;
    if (count > sizeof(buffers->client_kexinit)) {
        return false;
    }
    memcpy(buffers->client_kexinit, message->bytes - 1, count);
    connection->kex.client_kexinit_bytes = count;
    return true;
}

enum ssh_phase kexinit_on_kexinit(struct connection *connection, struct reader *message)
{
    struct kex *kex = &connection->kex;
    const struct reader whole = *message;
    bool first_exchange = is_first_exchange(connection);

    reader_bytes(message, SSH_COOKIE_BYTES);
    struct reader lists[LISTS];
    for (size_t i = 0; i < LISTS; i++) {
        lists[i] = reader_string(message);
    }
    bool packet_follows = reader_bool(message);
    reader_u32(message);
    if (!reader_end(message)) {
        return connection_refuse(connection, SSH_DISCONNECT_PROTOCOL_ERROR, "malformed KEXINIT");
    }
    if (!keep_client_kexinit(connection, &whole)) {
        return connection_refuse(connection, SSH_DISCONNECT_PROTOCOL_ERROR, "KEXINIT is too long");
    }

    if (connection->phase != SSH_PHASE_OPEN &&
        ++kex->begun_before_login > LIMIT_SIGNATURES_BEFORE_LOGIN) {
        return connection_refuse(connection, SSH_DISCONNECT_PROTOCOL_ERROR,
                                 "too many key exchanges before login");
    }

    const struct offer *chosen[LISTS];
    for (size_t i = 0; i < LISTS; i++) {
        const char *what = required[kind_of(i)];
        chosen[i] = choose(connection, kind_of(i), lists[i]);
        if (chosen[i] == NULL && what[0] != '\0') {
            reader_cut(&lists[i], connection->end.offer, sizeof(connection->end.offer));
            return connection_refuse(connection, SSH_DISCONNECT_KEY_EXCHANGE_FAILED,
                                     "no common %s%s", what,
                                     i < CIPHER   ? ""
                                     : i % 2 == 0 ? " from client to server"
                                                  : " from server to client");
        }
    }
    bool wrong_guess = packet_follows && !(is_guess_right(connection, METHOD, lists[METHOD]) &&
                                           is_guess_right(connection, HOST_KEY, lists[HOST_KEY]));

    if (first_exchange) {
        /* No later KEXINIT decides about these: draft-miller-sshm-strict-kex, RFC 8308 2.1. */
        kex->strict = list_has(lists[METHOD], STRICT_CLIENT);
        kex->ext_info = list_has(lists[METHOD], "ext-info-c");
    }
    if (!kex->sent) {
        kexinit_send(connection);
    }
    kex->hybrid = chosen[METHOD]->need == SNTRUP;
    kex->certified = chosen[HOST_KEY]->need == CERTIFICATE;
    log_method(connection, chosen[METHOD]->name);
    if (first_exchange) {
        return wrong_guess ? SSH_PHASE_GUESS : SSH_PHASE_ECDH;
    }
    return wrong_guess ? SSH_PHASE_REKEY_GUESS : SSH_PHASE_REKEY_ECDH;
}
