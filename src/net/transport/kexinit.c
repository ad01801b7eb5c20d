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
#include "kex.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "ask.h"
#include "log.h"
#include "ssh_key_types.h"
#include "version.h"

/* Key exchange methods. Our order matters only for the guess. */
static const struct method {
    char name[sizeof("sntrup761x25519-sha512@openssh.com")];
    bool hybrid; /* sntrup761 and X25519 with SHA-512, else X25519 with SHA-256 */
} methods[] = {
    {"sntrup761x25519-sha512", true},
    {"sntrup761x25519-sha512@openssh.com", true},
    {"curve25519-sha256", false},
    {"curve25519-sha256@libssh.org", false},
};

#define METHODS (sizeof(methods) / sizeof(methods[0]))

#define STRICT_SERVER "kex-strict-s-v00@openssh.com"
#define STRICT_CLIENT "kex-strict-c-v00@openssh.com"

/* Host key algorithms. We offer the first only if we have a host certificate. */
static const char *const host_key_algorithms[] = {SSH_ED25519_CERT, SSH_ED25519};

#define HOST_KEY_ALGORITHMS (sizeof(host_key_algorithms) / sizeof(host_key_algorithms[0]))

/* The name-lists after the first two, in the order of the wire: each for the client's direction,
 * then for ours. The client's list must have the name if `required` says what it is. No MAC is
 * required, as the cipher authenticates; we send a name because some clients refuse an empty list:
 * the one that auditors accept. Languages are ignored. */
static const struct offer {
    char required[sizeof("compression")];
    char name[sizeof("chacha20-poly1305@openssh.com")];
} offers[] = {
    {"cipher", "chacha20-poly1305@openssh.com"},
    {"", "hmac-sha2-256-etm@openssh.com"},
    {"compression", "none"},
    {"", ""},
};

#define OFFERS (2 * sizeof(offers) / sizeof(offers[0]))

static bool is_enabled(const struct connection *connection, const struct method *method)
{
    const struct net_options *options = connection->options;
    return !(method->hybrid ? options->no_sntrup : options->no_curve25519);
}

static bool is_first_exchange(const struct connection *connection)
{
    return connection->kex.session_id_bytes == 0;
}

/* The first of host_key_algorithms that we offer. */
static size_t first_host_key(const struct connection *connection)
{
    return connection->host_keys.certificate_bytes > 0 ? 0 : 1;
}

/* ---- ours ------------------------------------------------------------------------------------ */

static void write_methods(const struct connection *connection, struct writer *message)
{
    size_t mark = writer_string_begin(message);
    const char *separator = "";
    for (size_t i = 0; i < METHODS; i++) {
        if (is_enabled(connection, &methods[i])) {
            writer_bytes(message, separator, strlen(separator));
            writer_bytes(message, methods[i].name, strlen(methods[i].name));
            separator = ",";
        }
    }
    if (is_first_exchange(connection)) {
        writer_bytes(message, "," STRICT_SERVER, strlen("," STRICT_SERVER));
    }
    writer_string_end(message, mark);
}

static void write_host_keys(const struct connection *connection, struct writer *message)
{
    size_t mark = writer_string_begin(message);
    for (size_t i = first_host_key(connection); i < HOST_KEY_ALGORITHMS; i++) {
        writer_bytes(message, host_key_algorithms[i], strlen(host_key_algorithms[i]));
        writer_bytes(message, ",", i + 1 < HOST_KEY_ALGORITHMS ? 1 : 0);
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
    write_methods(connection, &own);
    write_host_keys(connection, &own);
    for (size_t i = 0; i < OFFERS; i++) {
        writer_text(&own, offers[i / 2].name);
    }
    writer_bool(&own, false);
    writer_u32(&own, 0);
    if (writer_failed(&own)) {
        connection_fail(connection, "KEXINIT does not fit its buffer");
        return;
    }
    kex->server_kexinit_bytes = own.used;

    kex->sent = true;
    kex->asked_ms = connection->now_ms;
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

static bool first_is(struct reader list, const char *wanted)
{
    struct reader name;
    return reader_name(&list, &name) && reader_is(&name, wanted);
}

/* The client's first method that we have, or NULL. */
static const struct method *choose_method(const struct connection *connection, struct reader list)
{
    struct reader name;
    while (reader_name(&list, &name)) {
        for (size_t i = 0; i < METHODS; i++) {
            if (is_enabled(connection, &methods[i]) && reader_is(&name, methods[i].name)) {
                return &methods[i];
            }
        }
    }
    return NULL;
}

/* The client's first host key algorithm that we have, as an index; HOST_KEY_ALGORITHMS if none. */
static size_t choose_host_key(const struct connection *connection, struct reader list)
{
    struct reader name;
    while (reader_name(&list, &name)) {
        for (size_t i = first_host_key(connection); i < HOST_KEY_ALGORITHMS; i++) {
            if (reader_is(&name, host_key_algorithms[i])) {
                return i;
            }
        }
    }
    return HOST_KEY_ALGORITHMS;
}

static const char *our_first_method(const struct connection *connection)
{
    for (size_t i = 0; i < METHODS; i++) {
        if (is_enabled(connection, &methods[i])) {
            return methods[i].name;
        }
    }
    return "";
}

static enum ssh_phase refuse_no_match(struct connection *connection, const char *what,
                                      const char *direction)
{
    return connection_refuse(connection, SSH_DISCONNECT_KEY_EXCHANGE_FAILED, "no common %s%s", what,
                             direction);
}

/* `list` is one of those that `offers` describes. */
static enum ssh_phase refuse_missing(struct connection *connection, size_t list)
{
    return refuse_no_match(connection, offers[list / 2].required,
                           list % 2 == 0 ? " from client to server" : " from server to client");
}

static void log_method(struct connection *connection, const struct method *method)
{
    if (connection->options->verbosity > 0) {
        char text[LIMIT_NOTE_BYTES + 1];
        snprintf(text, sizeof(text), "key exchange %s, strict %s, client %.100s", method->name,
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

/* The first list without a name that we require, or OFFERS. */
static size_t find_missing(const struct reader lists[static OFFERS])
{
    size_t i = 0;
    while (i < OFFERS &&
           (offers[i / 2].required[0] == '\0' || list_has(lists[i], offers[i / 2].name))) {
        i++;
    }
    return i;
}

enum ssh_phase kexinit_on_kexinit(struct connection *connection, struct reader *message)
{
    struct kex *kex = &connection->kex;
    const struct reader whole = *message;
    bool first_exchange = is_first_exchange(connection);

    reader_bytes(message, SSH_COOKIE_BYTES);
    struct reader client_methods = reader_string(message);
    struct reader client_host_keys = reader_string(message);
    struct reader lists[OFFERS];
    for (size_t i = 0; i < OFFERS; i++) {
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

    const struct method *method = choose_method(connection, client_methods);
    if (method == NULL) {
        return refuse_no_match(connection, "key exchange method", "");
    }
    size_t host_key = choose_host_key(connection, client_host_keys);
    if (host_key == HOST_KEY_ALGORITHMS) {
        return refuse_no_match(connection, "host key algorithm", "");
    }
    size_t missing = find_missing(lists);
    if (missing < OFFERS) {
        return refuse_missing(connection, missing);
    }
    bool wrong_guess =
        packet_follows &&
        !(first_is(client_methods, our_first_method(connection)) &&
          first_is(client_host_keys, host_key_algorithms[first_host_key(connection)]));

    if (first_exchange) {
        /* No later KEXINIT decides about these: draft-miller-sshm-strict-kex, RFC 8308 2.1. */
        kex->strict = list_has(client_methods, STRICT_CLIENT);
        kex->ext_info = list_has(client_methods, "ext-info-c");
    }
    if (!kex->sent) {
        kexinit_send(connection);
    }
    kex->hybrid = method->hybrid;
    kex->certified = host_key == 0;
    log_method(connection, method);
    if (first_exchange) {
        return wrong_guess ? SSH_PHASE_GUESS : SSH_PHASE_ECDH;
    }
    return wrong_guess ? SSH_PHASE_REKEY_GUESS : SSH_PHASE_REKEY_ECDH;
}
