/* crypto/ as the daemon calls it: what libsodium does for us is in these figures, too. */
#include <sodium.h>
#include <string.h>

#include "agree.h"
#include "chacha20.h"
#include "chachapoly.h"
#include "poly1305.h"
#include "rivals.h"
#include "sntrup761.h"

static uint8_t key[CHACHAPOLY_KEY_BYTES] = {1}, sealed[LARGEST_BYTES + 64];
static uint8_t public_key[SNTRUP761_PUBLIC_KEY_BYTES] = {2}, random_bytes[SNTRUP761_RANDOM_BYTES];
static size_t sealed_bytes;
static struct agree_key pair;
static uint8_t sign_public[crypto_sign_PUBLICKEYBYTES], sign_secret[crypto_sign_SECRETKEYBYTES];
static uint8_t signature[crypto_sign_BYTES];

static void seal(size_t bytes)
{
    chachapoly_seal(data, bytes, key, 7);
}

/* Opening decrypts in place, so each round needs a copy of a sealed packet. The others open from
 * one place to another instead; `both` is without either. */
static void open_packet(size_t bytes)
{
    if (sealed_bytes != bytes) {
        memset(sealed, 0, sizeof(sealed));
        chachapoly_seal(sealed, bytes, key, 7);
        sealed_bytes = bytes;
    }
    memcpy(data, sealed, bytes + CHACHAPOLY_LENGTH_BYTES + CHACHAPOLY_TAG_BYTES);
    if (!chachapoly_open(data, bytes, key, 7)) {
        __builtin_trap();
    }
}

/* As a server that sends a packet and gets one, which it asks for its length first. */
static void seal_and_open(size_t bytes)
{
    chachapoly_seal(data, bytes, key, 7);
    (void)chachapoly_length(data, key, 7);
    if (!chachapoly_open(data, bytes, key, 7)) {
        __builtin_trap();
    }
}

static void stream(size_t bytes)
{
    chacha20_xor(data, data, bytes, key, key, 1);
}

static void authenticate(size_t bytes)
{
    uint8_t tag[16];

    poly1305(tag, data, bytes, key);
    data[0] ^= tag[0]; /* or the compiler might leave it out */
}

/* Drawing the random bytes is part of it: libntruprime does that itself. */
static void encapsulate(size_t bytes)
{
    uint8_t ciphertext[SNTRUP761_CIPHERTEXT_BYTES], secret[SNTRUP761_SECRET_BYTES];
    uint8_t seed[SNTRUP761_SEED_BYTES];

    (void)bytes;
    randombytes_buf(seed, sizeof(seed));
    sntrup761_random(random_bytes, seed);
    sntrup761_encapsulate(ciphertext, secret, public_key, random_bytes);
    data[0] ^= secret[0];
}

static void agree(size_t bytes)
{
    uint8_t secret[AGREE_X25519_BYTES];

    (void)bytes;
    if (!agree_x25519(secret, &pair, pair.public_key)) {
        __builtin_trap();
    }
    data[0] ^= secret[0];
}

static void sign(size_t bytes)
{
    (void)bytes;
    crypto_sign_detached(signature, NULL, data + 1, 64, sign_secret);
}

static void verify(size_t bytes)
{
    (void)bytes;
    if (crypto_sign_verify_detached(signature, data + 1, 64, sign_public) != 0) {
        __builtin_trap();
    }
}

static int open_ours(void)
{
    if (sodium_init() < 0) {
        return 0;
    }
    randombytes_buf(random_bytes, sizeof(random_bytes));
    agree_x25519_key(&pair, random_bytes);
    crypto_sign_keypair(sign_public, sign_secret);
    crypto_sign_detached(signature, NULL, data + 1, 64, sign_secret);
    return 1;
}

static struct task tasks[] = {
    {"seal", seal},
    {"open", open_packet},
    {"both", seal_and_open},
    {"chacha20", stream},
    {"poly1305", authenticate},
    {"encapsulate", encapsulate},
    {"x25519", agree},
    {"sign", sign},
    {"verify", verify},
    {NULL, NULL},
};

struct rival ours = {"wrensshd", open_ours, tasks};
