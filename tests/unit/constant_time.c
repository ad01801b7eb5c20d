/*
 * Run under valgrind's memcheck this marks every secret as undefined; memcheck then reports each
 * branch taken and each address formed from one, and the program fails. Natively it only runs the
 * functions. With the argument "leak" it also takes a branch on a secret on purpose, and must fail.
 *
 * Whether a tag is right is no secret, and is branched on. The linker puts a function of ours in
 * the place of crypto_verify_16(), which marks its answer, and nothing else, as defined.
 *
 * All run at each level of crypto/cpu.h that there is. Memcheck's processor has no AVX-512: those
 * kernels are not seen by it, only what is compiled of the same source for other instructions.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

#include "agree.h"
#include "chacha20.h"
#include "chacha20_kernels.h"
#include "chachapoly.h"
#include "levels.h"
#include "poly1305.h"
#include "sntrup761.h"

static uint8_t key[64], message[1500], tag[16];

static void make_secret(void *bytes, size_t count)
{
    randombytes_buf(bytes, count);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(bytes, count);
}

int __real_crypto_verify_16(const unsigned char *one, const unsigned char *two);
int __wrap_crypto_verify_16(const unsigned char *one, const unsigned char *two);

int __wrap_crypto_verify_16(const unsigned char *one, const unsigned char *two)
{
    int answer = __real_crypto_verify_16(one, two);
    (void)VALGRIND_MAKE_MEM_DEFINED(&answer, sizeof(answer));
    return answer;
}

static void run_chacha20(void)
{
    uint8_t nonce[8] = {0};
    chacha20_xor(message, message, sizeof(message) - 3, key, nonce, 1);
}

static void run_chacha20_portable(void)
{
    uint32_t state[CHACHA20_STATE_WORDS];
    memcpy(state, key, sizeof(state));
    chacha20_portable(message, message, 20, state, state);
}

static void run_poly1305(void)
{
    poly1305(tag, message, sizeof(message) - 3, key);
}

static void run_seal(void)
{
    chachapoly_seal(message, 1000, key, 1);
    chachapoly_seal(message, 1024, key, 1);
}

static void open_sealed(uint8_t change_of_tag)
{
    const size_t body_bytes = 1000;
    chachapoly_seal(message, body_bytes, key, 1);
    message[CHACHAPOLY_LENGTH_BYTES + body_bytes] ^= change_of_tag;
    if (chachapoly_open(message, body_bytes, key, 1) != (change_of_tag == 0)) {
        puts("a wrong answer about a tag");
        exit(EXIT_FAILURE);
    }
}

static void run_open(void)
{
    open_sealed(0);
}

static void run_open_refusing(void)
{
    open_sealed(1);
}

static void run_length(void)
{
    uint32_t length = chachapoly_length(message, key, 1);
    memcpy(message, &length, sizeof(length));
}

static void run_sntrup761(void)
{
    static uint8_t random[SNTRUP761_RANDOM_BYTES], public_key[SNTRUP761_PUBLIC_KEY_BYTES];
    static uint8_t ciphertext[SNTRUP761_CIPHERTEXT_BYTES], secret[SNTRUP761_SECRET_BYTES];
    randombytes_buf(public_key, sizeof(public_key));
    make_secret(random, sizeof(random));
    sntrup761_encapsulate(ciphertext, secret, public_key, random);
}

static void run_agree_key(void)
{
    struct agree_key pair;
    agree_x25519_key(&pair, key);
}

static void run_leak(void)
{
    static const char *const words[] = {"even", "odd"};
    volatile size_t index = key[0] & 1;
    puts(words[index]);
}

struct check {
    const char *name;
    void (*run)(void);
};

static const struct check checks[] = {
    {"chacha20", run_chacha20},        {"chacha20_portable", run_chacha20_portable},
    {"poly1305", run_poly1305},        {"chachapoly_seal", run_seal},
    {"chachapoly_open", run_open},     {"chachapoly_open, a wrong tag", run_open_refusing},
    {"chachapoly_length", run_length}, {"sntrup761", run_sntrup761},
    {"agree_key", run_agree_key},      {"leak", run_leak},
};

static int passes(const struct check *check, const char *level)
{
    unsigned long before = VALGRIND_COUNT_ERRORS;
    make_secret(key, sizeof(key));
    make_secret(message, sizeof(message));
    check->run();
    int passed = VALGRIND_COUNT_ERRORS == before;
    printf("%s, %s: %s\n", level, check->name, passed ? "ok" : "depends on a secret");
    return passed;
}

int main(int count, char **arguments)
{
    size_t last = sizeof(checks) / sizeof(checks[0]) - 1;
    int passed = 1;
    if (sodium_init() < 0) {
        return EXIT_FAILURE;
    }
    if (count > 1 && strcmp(arguments[1], "leak") == 0) {
        last++;
    }
    levels_tell();
    for (int level = 0; level < LEVELS; level++) {
        for (size_t i = 0; level_set(level) && i < last; i++) {
            passed &= passes(&checks[i], levels[level].name);
        }
    }
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
