/* libsodium's own ciphers, in the newest version that is there. Its AEAD is that of RFC 8439: the
 * same work as a packet's but for the encrypted length. */
#include "rivals.h"

static struct {
    int (*start)(void);
    int (*make_pair)(uint8_t *public_key, uint8_t *secret);
    int (*seal)(uint8_t *out, uint8_t *tag, unsigned long long *tag_bytes, const uint8_t *message,
                unsigned long long bytes, const uint8_t *extra, unsigned long long extra_bytes,
                const uint8_t *none, const uint8_t *nonce, const uint8_t *key);
    int (*open)(uint8_t *out, uint8_t *none, const uint8_t *sealed, unsigned long long bytes,
                const uint8_t *tag, const uint8_t *extra, unsigned long long extra_bytes,
                const uint8_t *nonce, const uint8_t *key);
    int (*stream)(uint8_t *out, const uint8_t *message, unsigned long long bytes,
                  const uint8_t *nonce, const uint8_t *key);
    int (*tag)(uint8_t *tag, const uint8_t *message, unsigned long long bytes, const uint8_t *key);
    int (*agree)(uint8_t *shared, const uint8_t *secret, const uint8_t *public_key);
    int (*sign)(uint8_t *signature, unsigned long long *signature_bytes, const uint8_t *message,
                unsigned long long bytes, const uint8_t *secret);
    int (*verify)(const uint8_t *signature, const uint8_t *message, unsigned long long bytes,
                  const uint8_t *public_key);
} sodium;

/* In the order of the members. */
static const char *const symbols[] = {
    "sodium_init",
    "crypto_sign_keypair",
    "crypto_aead_chacha20poly1305_ietf_encrypt_detached",
    "crypto_aead_chacha20poly1305_ietf_decrypt_detached",
    "crypto_stream_chacha20_xor",
    "crypto_onetimeauth_poly1305",
    "crypto_scalarmult_curve25519",
    "crypto_sign_detached",
    "crypto_sign_verify_detached",
    NULL,
};

static const char *const names[] = {"libsodium.so.26", "libsodium.so.23", NULL};
static uint8_t key[32] = {1}, nonce[12], extra[4], tag[16], sealed[LARGEST_BYTES], sealed_tag[16];
static size_t sealed_bytes;
static uint8_t point[32] = {9}, sign_public[32], sign_secret[64], signature[64];

static void seal(size_t bytes)
{
    sodium.seal(data, tag, NULL, data, bytes, extra, sizeof(extra), NULL, nonce, key);
}

static void open_packet(size_t bytes)
{
    if (sealed_bytes != bytes) {
        sodium.seal(sealed, sealed_tag, NULL, sealed, bytes, extra, sizeof(extra), NULL, nonce,
                    key);
        sealed_bytes = bytes;
    }
    if (sodium.open(data, NULL, sealed, bytes, sealed_tag, extra, sizeof(extra), nonce, key) != 0) {
        __builtin_trap();
    }
}

static void seal_and_open(size_t bytes)
{
    seal(bytes);
    if (sodium.open(data, NULL, data, bytes, tag, extra, sizeof(extra), nonce, key) != 0) {
        __builtin_trap();
    }
}

static void stream(size_t bytes)
{
    sodium.stream(data, data, bytes, nonce, key);
}

static void authenticate(size_t bytes)
{
    sodium.tag(tag, data, bytes, key);
}

static void agree(size_t bytes)
{
    (void)bytes;
    sodium.agree(data, key, point);
}

static void sign(size_t bytes)
{
    (void)bytes;
    sodium.sign(signature, NULL, data + 1, 64, sign_secret);
}

static void verify(size_t bytes)
{
    (void)bytes;
    if (sodium.verify(signature, data + 1, 64, sign_public) != 0) {
        __builtin_trap();
    }
}

static int open_libsodium(void)
{
    if (!load_library(names, symbols, &sodium) || sodium.start() < 0) {
        return 0;
    }
    sodium.make_pair(sign_public, sign_secret);
    sign(0);
    return 1;
}

static struct task tasks[] = {
    {"seal", seal},       {"open", open_packet},      {"both", seal_and_open},
    {"chacha20", stream}, {"poly1305", authenticate}, {"x25519", agree},
    {"sign", sign},       {"verify", verify},         {NULL, NULL},
};

struct rival libsodium = {"libsodium", open_libsodium, tasks};
