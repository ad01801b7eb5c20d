/*
 * Runs one function on secrets, for run.sh:
 *
 *     secrets FUNCTION LEVEL PATTERN
 *
 * Under an emulator, run.sh compares what the processor does with different secrets. PATTERN is
 * "zeros", "ones_" (all bits), or five letters that random bytes are made from. Under valgrind's
 * memcheck the secrets count as undefined: a branch on one and an address made from one is
 * reported.
 *
 * "branch" and "index" are functions with a leak. What libsodium does is not ours: stand-ins take
 * its place.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chacha20.h"
#include "chacha20_kernels.h"
#include "chachapoly.h"
#include "hostkey.h"
#include "hostkey_internal.h"
#include "levels.h"
#include "poly1305.h"
#include "sntrup761.h"

#ifdef SECRETS_MEMCHECK
#include <valgrind/memcheck.h>
#define poison(bytes, count)     (void)VALGRIND_MAKE_MEM_UNDEFINED(bytes, count)
#define declassify(bytes, count) (void)VALGRIND_MAKE_MEM_DEFINED(bytes, count)
#else
#define poison(bytes, count)     (void)(bytes)
#define declassify(bytes, count) (void)(bytes)
#endif

static uint8_t key[64], message[4096], difference[16], random_bytes[SNTRUP761_RANDOM_BYTES];
static uint8_t tag[16];

void sodium_memzero(void *const bytes, const size_t count)
{
    volatile uint8_t *at = bytes;
    for (size_t i = 0; i < count; i++) {
        at[i] = 0;
    }
}

/* Whether two secrets are equal is none: packets are refused, and keys are. */
int sodium_memcmp(const void *const one, const void *const other, size_t count)
{
    volatile uint8_t different = 0;
    for (size_t i = 0; i < count; i++) {
        different |= ((const uint8_t *)one)[i] ^ ((const uint8_t *)other)[i];
    }
    uint8_t answer = different;
    declassify(&answer, sizeof(answer));
    return answer != 0 ? -1 : 0;
}

int crypto_verify_16(const unsigned char *one, const unsigned char *other)
{
    return sodium_memcmp(one, other, 16);
}

/* The pair of a seed: any that depends on it. */
int crypto_sign_seed_keypair(unsigned char *public_key, unsigned char *secret_key,
                             const unsigned char *seed)
{
    memcpy(public_key, seed, 32);
    memcpy(secret_key, seed, 32);
    memcpy(secret_key + 32, public_key, 32);
    return 0;
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
    fill(difference, sizeof(difference), and_mask, or_mask);
    difference[15] |= 1;
    poison(key, sizeof(key));
    poison(message, sizeof(message));
    poison(random_bytes, sizeof(random_bytes));
    poison(difference, sizeof(difference));
}

static void run_chacha20(void)
{
    static const uint8_t nonce[8];
    chacha20_xor(message, message, 3001, key, nonce, 1);
}

static void run_portable(void)
{
    uint32_t state[CHACHA20_STATE_WORDS];
    memcpy(state, key, sizeof(state));
    chacha20_portable(message, message, 20, state, state);
}

static void run_poly1305(void)
{
    for (size_t count = 0; count <= 80; count++) {
        poly1305(tag, message, count, key);
    }
    poly1305(tag, message, 3001, key);
}

/* With r = 1 a message of 32 bytes of ones is the number 2^130 - 2, which must be reduced; one of
 * zeros is below 2^130 - 5. */
static void run_reduction(void)
{
    memset(key, 0, 16);
    key[0] = 1;
    poison(key, 16);
    poly1305(tag, message, 32, key);
}

static void run_length(void)
{
    uint32_t length = chachapoly_length(message, key, 1);
    memcpy(message, &length, sizeof(length));
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
    for (size_t i = 0; i < sizeof(difference); i++) {
        message[1004 + i] ^= difference[i];
    }
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

static void run_random(void)
{
    sntrup761_random(random_bytes, key);
}

/* The second half of the secret key is not the public one's, in the places that `difference` has.
 * This is the only comparison of secrets outside of crypto/. */
static void run_hostkey(void)
{
    uint8_t public_key[32];
    memcpy(key + 32, key, 32);
    for (size_t i = 0; i < sizeof(difference); i++) {
        key[32 + i] ^= difference[i];
    }
    if (hostkey_derive(public_key, key)) {
        exit(EXIT_FAILURE);
    }
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
    {"chacha20", run_chacha20},   {"portable", run_portable}, {"poly1305", run_poly1305},
    {"reduction", run_reduction}, {"length", run_length},     {"seal", run_seal},
    {"open", run_open},           {"refuse", run_refuse},     {"random", run_random},
    {"sntrup761", run_sntrup761}, {"hostkey", run_hostkey},   {"branch", run_branch},
    {"index", run_index},
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
