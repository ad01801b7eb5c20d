/* OpenSSL's chacha20-poly1305 is RFC 8439's: the same work as a packet's but for the encrypted
 * length. One context is kept and given a nonce for each packet, which is how it is fast. */
#include "rivals.h"

#define CTRL_GET_TAG 0x10
#define CTRL_SET_TAG 0x11
#define X25519_TYPE  1034
#define ED25519_TYPE 1087

static const char *const names[] = {"libcrypto.so.3", "libcrypto.so.4", "libcrypto.so.1.1", NULL};

typedef void object;

static struct {
    object *(*new_cipher)(void);
    const object *(*chacha20_poly1305)(void);
    const object *(*chacha20)(void);
    int (*encrypt_init)(object *, const object *, void *, const uint8_t *, const uint8_t *);
    int (*encrypt)(object *, uint8_t *, int *, const uint8_t *, int);
    int (*encrypt_end)(object *, uint8_t *, int *);
    int (*decrypt_init)(object *, const object *, void *, const uint8_t *, const uint8_t *);
    int (*decrypt)(object *, uint8_t *, int *, const uint8_t *, int);
    int (*decrypt_end)(object *, uint8_t *, int *);
    int (*cipher_control)(object *, int, int, void *);
    object *(*fetch_mac)(void *, const char *, const char *);
    object *(*new_mac)(object *);
    int (*mac_init)(object *, const uint8_t *, size_t, const void *);
    int (*mac_update)(object *, const uint8_t *, size_t);
    int (*mac_end)(object *, uint8_t *, size_t *, size_t);
    object *(*private_key)(int, void *, const uint8_t *, size_t);
    object *(*new_key_context)(object *, void *);
    int (*derive_init)(object *);
    int (*derive_peer)(object *, object *);
    int (*derive)(object *, uint8_t *, size_t *);
    object *(*new_digest)(void);
    int (*sign_init)(object *, void *, void *, void *, object *);
    int (*sign)(object *, uint8_t *, size_t *, const uint8_t *, size_t);
    int (*verify_init)(object *, void *, void *, void *, object *);
    int (*verify)(object *, const uint8_t *, size_t, const uint8_t *, size_t);
} evp;

/* In the order of the members. */
static const char *const symbols[] = {
    "EVP_CIPHER_CTX_new",
    "EVP_chacha20_poly1305",
    "EVP_chacha20",
    "EVP_EncryptInit_ex",
    "EVP_EncryptUpdate",
    "EVP_EncryptFinal_ex",
    "EVP_DecryptInit_ex",
    "EVP_DecryptUpdate",
    "EVP_DecryptFinal_ex",
    "EVP_CIPHER_CTX_ctrl",
    "EVP_MAC_fetch",
    "EVP_MAC_CTX_new",
    "EVP_MAC_init",
    "EVP_MAC_update",
    "EVP_MAC_final",
    "EVP_PKEY_new_raw_private_key",
    "EVP_PKEY_CTX_new",
    "EVP_PKEY_derive_init",
    "EVP_PKEY_derive_set_peer",
    "EVP_PKEY_derive",
    "EVP_MD_CTX_new",
    "EVP_DigestSignInit",
    "EVP_DigestSign",
    "EVP_DigestVerifyInit",
    "EVP_DigestVerify",
    NULL,
};

static object *sealer, *opener, *streamer, *tagger, *agreement, *signer, *verifier, *sign_key;
static uint8_t key[32] = {1}, nonce[16], extra[4], tag[16], sealed[LARGEST_BYTES], sealed_tag[16];
static uint8_t signature[64];
static size_t sealed_bytes;

static void seal_to(uint8_t *out, uint8_t *out_tag, size_t bytes)
{
    int done;

    evp.encrypt_init(sealer, NULL, NULL, NULL, nonce);
    evp.encrypt(sealer, NULL, &done, extra, sizeof(extra));
    evp.encrypt(sealer, out, &done, out, (int)bytes);
    evp.encrypt_end(sealer, out, &done);
    evp.cipher_control(sealer, CTRL_GET_TAG, 16, out_tag);
}

static void seal(size_t bytes)
{
    seal_to(data, tag, bytes);
}

static void open_from(const uint8_t *in, uint8_t *in_tag, size_t bytes)
{
    int done;

    evp.decrypt_init(opener, NULL, NULL, NULL, nonce);
    evp.cipher_control(opener, CTRL_SET_TAG, 16, in_tag);
    evp.decrypt(opener, NULL, &done, extra, sizeof(extra));
    evp.decrypt(opener, data, &done, in, (int)bytes);
    if (evp.decrypt_end(opener, data, &done) != 1) {
        __builtin_trap();
    }
}

static void open_packet(size_t bytes)
{
    if (sealed_bytes != bytes) {
        seal_to(sealed, sealed_tag, bytes);
        sealed_bytes = bytes;
    }
    open_from(sealed, sealed_tag, bytes);
}

static void seal_and_open(size_t bytes)
{
    seal_to(data, tag, bytes);
    open_from(data, tag, bytes);
}

static void stream(size_t bytes)
{
    int done;

    evp.encrypt_init(streamer, NULL, NULL, NULL, nonce);
    evp.encrypt(streamer, data, &done, data, (int)bytes);
}

static void authenticate(size_t bytes)
{
    size_t done;

    evp.mac_init(tagger, key, sizeof(key), NULL);
    evp.mac_update(tagger, data, bytes);
    evp.mac_end(tagger, tag, &done, sizeof(tag));
}

static void agree(size_t bytes)
{
    size_t length = 32;

    (void)bytes;
    if (evp.derive(agreement, data, &length) != 1) {
        __builtin_trap();
    }
}

static void sign(size_t bytes)
{
    size_t length = sizeof(signature);

    (void)bytes;
    /* A context signs once. */
    if (evp.sign_init(signer, NULL, NULL, NULL, sign_key) != 1 ||
        evp.sign(signer, signature, &length, data + 1, 64) != 1) {
        __builtin_trap();
    }
}

static void verify(size_t bytes)
{
    (void)bytes;
    if (evp.verify_init(verifier, NULL, NULL, NULL, sign_key) != 1 ||
        evp.verify(verifier, signature, sizeof(signature), data + 1, 64) != 1) {
        __builtin_trap();
    }
}

static int open_openssl(void)
{
    object *poly1305, *pair;

    if (!load_library(names, symbols, &evp)) {
        return 0;
    }
    sealer = evp.new_cipher();
    opener = evp.new_cipher();
    streamer = evp.new_cipher();
    poly1305 = evp.fetch_mac(NULL, "POLY1305", NULL);
    pair = evp.private_key(X25519_TYPE, NULL, key, sizeof(key));
    sign_key = evp.private_key(ED25519_TYPE, NULL, key, sizeof(key));
    if (!sealer || !opener || !streamer || !poly1305 || !pair || !sign_key) {
        return 0;
    }
    tagger = evp.new_mac(poly1305);
    agreement = evp.new_key_context(pair, NULL);
    signer = evp.new_digest();
    verifier = evp.new_digest();
    if (evp.encrypt_init(sealer, evp.chacha20_poly1305(), NULL, key, nonce) != 1 ||
        evp.decrypt_init(opener, evp.chacha20_poly1305(), NULL, key, nonce) != 1 ||
        evp.encrypt_init(streamer, evp.chacha20(), NULL, key, nonce) != 1 ||
        evp.derive_init(agreement) != 1 || evp.derive_peer(agreement, pair) != 1) {
        return 0;
    }
    sign(0);
    return 1;
}

static struct task tasks[] = {
    {"seal", seal},       {"open", open_packet},      {"both", seal_and_open},
    {"chacha20", stream}, {"poly1305", authenticate}, {"x25519", agree},
    {"sign", sign},       {"verify", verify},         {NULL, NULL},
};

struct rival openssl = {"openssl", open_openssl, tasks};
