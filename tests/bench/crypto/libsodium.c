/* libsodium's own ciphers, in the newest version that is there. Its AEAD is that of RFC 8439: the
 * same work as a packet's but for the encrypted length. */
#include <dlfcn.h>

#include "rivals.h"

typedef int seal_function(uint8_t *out, uint8_t *tag, unsigned long long *tag_bytes,
                          const uint8_t *message, unsigned long long bytes, const uint8_t *extra,
                          unsigned long long extra_bytes, const uint8_t *none, const uint8_t *nonce,
                          const uint8_t *key);
typedef int open_function(uint8_t *out, uint8_t *none, const uint8_t *sealed,
                          unsigned long long bytes, const uint8_t *tag, const uint8_t *extra,
                          unsigned long long extra_bytes, const uint8_t *nonce, const uint8_t *key);
typedef int stream_function(uint8_t *out, const uint8_t *message, unsigned long long bytes,
                            const uint8_t *nonce, const uint8_t *key);
typedef int tag_function(uint8_t *tag, const uint8_t *message, unsigned long long bytes,
                         const uint8_t *key);
typedef int agree_function(uint8_t *shared, const uint8_t *secret, const uint8_t *public_key);
typedef int sign_function(uint8_t *signature, unsigned long long *signature_bytes,
                          const uint8_t *message, unsigned long long bytes, const uint8_t *secret);
typedef int verify_function(const uint8_t *signature, const uint8_t *message,
                            unsigned long long bytes, const uint8_t *public_key);
typedef int pair_function(uint8_t *public_key, uint8_t *secret);

static seal_function *seal_with;
static open_function *open_with;
static stream_function *stream_with;
static tag_function *tag_with;
static agree_function *agree_with;
static sign_function *sign_with;
static verify_function *verify_with;

static const char *const names[] = {"libsodium.so.26", "libsodium.so.23", NULL};
static uint8_t key[32] = {1}, nonce[12], extra[4], tag[16], sealed[LARGEST_BYTES], sealed_tag[16];
static size_t sealed_bytes;
static uint8_t point[32] = {9}, sign_public[32], sign_secret[64], signature[64];

static void seal(size_t bytes)
{
    seal_with(data, tag, NULL, data, bytes, extra, sizeof(extra), NULL, nonce, key);
}

static void open_packet(size_t bytes)
{
    if (sealed_bytes != bytes) {
        seal_with(sealed, sealed_tag, NULL, sealed, bytes, extra, sizeof(extra), NULL, nonce, key);
        sealed_bytes = bytes;
    }
    if (open_with(data, NULL, sealed, bytes, sealed_tag, extra, sizeof(extra), nonce, key) != 0) {
        __builtin_trap();
    }
}

static void seal_and_open(size_t bytes)
{
    seal(bytes);
    if (open_with(data, NULL, data, bytes, tag, extra, sizeof(extra), nonce, key) != 0) {
        __builtin_trap();
    }
}

static void stream(size_t bytes)
{
    stream_with(data, data, bytes, nonce, key);
}

static void authenticate(size_t bytes)
{
    tag_with(tag, data, bytes, key);
}

static void agree(size_t bytes)
{
    (void)bytes;
    agree_with(data, key, point);
}

static void sign(size_t bytes)
{
    (void)bytes;
    sign_with(signature, NULL, data + 1, 64, sign_secret);
}

static void verify(size_t bytes)
{
    (void)bytes;
    if (verify_with(signature, data + 1, 64, sign_public) != 0) {
        __builtin_trap();
    }
}

static int open_libsodium(void)
{
    void *library = open_library(names);
    int (*start)(void);
    pair_function *make_pair;

    if (library == NULL) {
        return 0;
    }
    start = (int (*)(void))dlsym(library, "sodium_init");
    make_pair = (pair_function *)dlsym(library, "crypto_sign_keypair");
    seal_with =
        (seal_function *)dlsym(library, "crypto_aead_chacha20poly1305_ietf_encrypt_detached");
    open_with =
        (open_function *)dlsym(library, "crypto_aead_chacha20poly1305_ietf_decrypt_detached");
    stream_with = (stream_function *)dlsym(library, "crypto_stream_chacha20_xor");
    tag_with = (tag_function *)dlsym(library, "crypto_onetimeauth_poly1305");
    agree_with = (agree_function *)dlsym(library, "crypto_scalarmult_curve25519");
    sign_with = (sign_function *)dlsym(library, "crypto_sign_detached");
    verify_with = (verify_function *)dlsym(library, "crypto_sign_verify_detached");
    if (!start || !make_pair || !seal_with || !open_with || !stream_with || !tag_with ||
        !agree_with || !sign_with || !verify_with || start() < 0) {
        return 0;
    }
    make_pair(sign_public, sign_secret);
    sign_with(signature, NULL, data + 1, 64, sign_secret);
    return 1;
}

static struct task tasks[] = {
    {"seal", seal},       {"open", open_packet},      {"both", seal_and_open},
    {"chacha20", stream}, {"poly1305", authenticate}, {"x25519", agree},
    {"sign", sign},       {"verify", verify},         {NULL, NULL},
};

struct rival libsodium = {"libsodium", open_libsodium, tasks};
