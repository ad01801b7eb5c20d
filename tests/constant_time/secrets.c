/*
 * Runs one function of crypto/ on a secret, for run.sh, which compares what the processor does with
 * different ones:
 *
 *     secrets FUNCTION LEVEL PATTERN
 *
 * PATTERN is "zeros", "ones_" (all bits), or five letters that random bytes are made from. "branch"
 * and "index" are functions with a leak. What libsodium does is not ours: stand-ins take its place.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chacha20.h"
#include "chachapoly.h"
#include "levels.h"
#include "poly1305.h"
#include "sntrup761.h"

static uint8_t key[64], message[4096], tag[16], random_bytes[SNTRUP761_RANDOM_BYTES];

void sodium_memzero(void *const bytes, const size_t count)
{
    volatile uint8_t *at = bytes;
    for (size_t i = 0; i < count; i++) {
        at[i] = 0;
    }
}

int sodium_memcmp(const void *const one, const void *const other, size_t count)
{
    volatile uint8_t difference = 0;
    for (size_t i = 0; i < count; i++) {
        difference |= ((const uint8_t *)one)[i] ^ ((const uint8_t *)other)[i];
    }
    return difference != 0 ? -1 : 0;
}

/* No hash: it only mixes, in the same way whatever the bytes are. */
int crypto_hash_sha512_init(crypto_hash_sha512_state *hash)
{
    memset(hash, 1, sizeof(*hash));
    return 0;
}

int crypto_hash_sha512_update(crypto_hash_sha512_state *hash, const unsigned char *in,
                              unsigned long long count)
{
    uint8_t *mixed = (uint8_t *)hash->state;
    for (unsigned long long i = 0; i < count; i++) {
        mixed[i % 64] = (uint8_t)(mixed[i % 64] * 5 + in[i]);
    }
    return 0;
}

int crypto_hash_sha512_final(crypto_hash_sha512_state *hash, unsigned char *out)
{
    memcpy(out, hash->state, 64);
    return 0;
}

static uint64_t state;

/* The choice of the pattern must not show in the trace. */
static void fill(uint8_t *bytes, size_t count, uint8_t and_mask, uint8_t or_mask)
{
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        bytes[i] = (uint8_t)(((uint8_t)(state >> 56) & and_mask) | or_mask);
    }
}

static void make_secrets(const char *pattern)
{
    uint8_t zeros = (uint8_t)(pattern[0] ^ 'z'), ones = (uint8_t)(pattern[0] ^ 'o');
    uint8_t and_mask = (uint8_t)(0 - (uint8_t)((zeros | (uint8_t)(0 - zeros)) >> 7));
    uint8_t or_mask = (uint8_t) ~(uint8_t)(0 - (uint8_t)((ones | (uint8_t)(0 - ones)) >> 7));
    memcpy(&state, pattern, 5);
    fill(key, sizeof(key), and_mask, or_mask);
    fill(message, sizeof(message), and_mask, or_mask);
    fill(random_bytes, sizeof(random_bytes), and_mask, or_mask);
}

static void run_chacha20(void)
{
    static const uint8_t nonce[8];
    chacha20_xor(message, message, 3001, key, nonce, 1);
}

static void run_poly1305(void)
{
    for (size_t count = 0; count <= 80; count++) {
        poly1305(tag, message, count, key);
    }
    poly1305(tag, message, 3001, key);
}

static void run_seal(void)
{
    chachapoly_seal(message, 1000, key, 1);
}

static void run_open(void)
{
    chachapoly_seal(message, 1000, key, 1);
    if (!chachapoly_open(message, 1000, key, 1)) {
        exit(EXIT_FAILURE);
    }
}

static void run_refuse(void)
{
    chachapoly_seal(message, 1000, key, 1);
    message[1004 + 7] ^= 1;
    if (chachapoly_open(message, 1000, key, 1)) {
        exit(EXIT_FAILURE);
    }
}

static void run_sntrup761(void)
{
    static uint8_t public_key[SNTRUP761_PUBLIC_KEY_BYTES], ciphertext[SNTRUP761_CIPHERTEXT_BYTES];
    static uint8_t secret[SNTRUP761_SECRET_BYTES];
    memset(public_key, 0x5a, sizeof(public_key));
    sntrup761_encapsulate(ciphertext, secret, public_key, random_bytes);
}

static void run_branch(void)
{
    static volatile uint8_t counter;
    if ((key[0] & 1) != 0) {
        counter++;
    }
}

static void run_index(void)
{
    static volatile uint8_t table[256], found;
    found = table[key[0]];
}

static const struct {
    const char *name;
    void (*run)(void);
} functions[] = {
    {"chacha20", run_chacha20}, {"poly1305", run_poly1305}, {"seal", run_seal},
    {"open", run_open},         {"refuse", run_refuse},     {"sntrup761", run_sntrup761},
    {"branch", run_branch},     {"index", run_index},
};

int main(int count, char **arguments)
{
    int level = count == 4 ? atoi(arguments[2]) : LEVELS;
    if (level >= LEVELS || !level_set(level) || strlen(arguments[3]) != 5) {
        return 77;
    }
    make_secrets(arguments[3]);
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (strcmp(functions[i].name, arguments[1]) == 0) {
            functions[i].run();
            return EXIT_SUCCESS;
        }
    }
    return EXIT_FAILURE;
}
