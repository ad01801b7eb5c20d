#include "offer.h"

#include <sodium.h>
#include <string.h>

#include "ssh_client.h"
#include "wire.h"

#define COOKIE_BYTES  16
#define HOST_KEY      "ssh-ed25519"
#define STRICT_SERVER "kex-strict-s-v00@openssh.com"
#define MARKERS       ",ext-info-c,kex-strict-c-v00@openssh.com"

static const struct method methods[] = {
    {"sntrup761x25519-sha512", true},
    {"sntrup761x25519-sha512@openssh.com", true},
    {"curve25519-sha256", false},
    {"curve25519-sha256@libssh.org", false},
};

/* Cipher, MAC, compression and language, each from client to server and back. The MAC is for
 * servers that refuse an empty list; the cipher needs none. */
static const struct list {
    const char *name;
    const char *missing; /* what to say if the server has not got it; NULL if it does not matter */
} lists[] = {
    {"chacha20-poly1305@openssh.com", "the server has no chacha20-poly1305@openssh.com"},
    {"chacha20-poly1305@openssh.com", "the server has no chacha20-poly1305@openssh.com"},
    {"hmac-sha2-256", NULL},
    {"hmac-sha2-256", NULL},
    {"none", "the server insists on compression"},
    {"none", "the server insists on compression"},
    {"", NULL},
    {"", NULL},
};

#define LISTS (sizeof(lists) / sizeof(lists[0]))

bool offer_named(struct offer *offer, const char *name)
{
    *offer = (struct offer){.methods = methods, .count = 2};
    if (strcmp(name, "sntrup") == 0) {
        return true;
    }
    if (strcmp(name, "curve") == 0) {
        offer->methods = methods + 2;
        return true;
    }
    offer->count = 1;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        offer->methods = methods + i;
        if (strcmp(name, methods[i].name) == 0) {
            return true;
        }
    }
    return false;
}

/* EXT_INFO tells us nothing that we act on; but the stock client asks for it, and the server's work
 * is to be the same. */
static void put_methods(struct fields *message, const struct offer *offer, bool first_exchange)
{
    size_t list = fields_begin(message);
    for (size_t i = 0; i < offer->count; i++) {
        fields_bytes(message, ",", i > 0 ? 1 : 0);
        fields_bytes(message, offer->methods[i].name, strlen(offer->methods[i].name));
    }
    fields_bytes(message, MARKERS, first_exchange ? strlen(MARKERS) : 0);
    fields_end(message, list);
}

size_t offer_write(const struct offer *offer, bool first_exchange, bool guess,
                   uint8_t out[static OFFER_BYTES])
{
    uint8_t cookie[COOKIE_BYTES];
    struct fields message = {out, 0, OFFER_BYTES, false};
    randombytes_buf(cookie, sizeof(cookie));
    fields_put(&message, "br", SSH_MSG_KEXINIT, cookie, sizeof(cookie));
    put_methods(&message, offer, first_exchange);
    fields_text(&message, HOST_KEY);
    for (size_t i = 0; i < LISTS; i++) {
        fields_text(&message, lists[i].name);
    }
    fields_put(&message, "bu", guess, 0);
    return message.used;
}

/* ---- theirs ---------------------------------------------------------------------------------- */

static bool has(struct reader list, const char *wanted)
{
    struct reader name;
    while (reader_name(&list, &name)) {
        if (reader_is(&name, wanted)) {
            return true;
        }
    }
    return false;
}

static bool begins_with(struct reader list, const char *wanted)
{
    struct reader name;
    return reader_name(&list, &name) && reader_is(&name, wanted);
}

const char *offer_settle(const struct offer *offer, struct reader message,
                         struct settlement *settlement)
{
    reader_bytes(&message, COOKIE_BYTES);
    struct reader theirs = reader_string(&message);
    struct reader host_keys = reader_string(&message);
    const char *missing = NULL;
    for (size_t i = 0; i < LISTS; i++) {
        struct reader list = reader_string(&message);
        if (lists[i].missing != NULL && !has(list, lists[i].name) && missing == NULL) {
            missing = lists[i].missing;
        }
    }
    reader_bool(&message);
    reader_u32(&message);
    if (!reader_end(&message)) {
        return "the server's KEXINIT is malformed";
    }
    *settlement = (struct settlement){
        .strict = has(theirs, STRICT_SERVER),
        .guess_right =
            begins_with(theirs, offer->methods[0].name) && begins_with(host_keys, HOST_KEY),
    };
    for (size_t i = offer->count; i > 0; i--) {
        if (has(theirs, offer->methods[i - 1].name)) {
            settlement->method = &offer->methods[i - 1];
        }
    }
    if (settlement->method == NULL) {
        return "the server has none of our key exchange methods";
    }
    return has(host_keys, HOST_KEY) ? missing : "the server has no ssh-ed25519 host key";
}
