/*
 * sodium_init() lets each algorithm choose its fastest variant, and would so bring every algorithm into every program.
 * Those here have one variant or none, and sodium_init() does not look at the answers. Weak: a program that uses such an
 * algorithm gets the real function along with it.
 */
#include <stddef.h>
#include <sys/random.h>

#include "private/implementations.h"
#include "randombytes.h"
#include "randombytes_sysrandom.h"

#define LEFT_OUT __attribute__((weak))

LEFT_OUT int _crypto_generichash_blake2b_pick_best_implementation(void)
{
    return 0;
}

LEFT_OUT int _crypto_onetimeauth_poly1305_pick_best_implementation(void)
{
    return 0;
}

LEFT_OUT int _crypto_pwhash_argon2_pick_best_implementation(void)
{
    return 0;
}

LEFT_OUT int _crypto_stream_chacha20_pick_best_implementation(void)
{
    return 0;
}

LEFT_OUT int _crypto_stream_salsa20_pick_best_implementation(void)
{
    return 0;
}

/*
 * The source of random bytes that libsodium falls back to. wrensshd sets its own (src/process/entropy.c) before it needs
 * any; only tests use this one, on kernels that have getrandom().
 */
static void fill(void *const buf, const size_t size)
{
    unsigned char *at = buf;
    for (size_t left = size; left > 0;) {
        ssize_t got = getrandom(at, left, 0);
        if (got <= 0) {
            __builtin_trap();
        }
        at += got;
        left -= (size_t)got;
    }
}

static uint32_t number(void)
{
    uint32_t random;
    fill(&random, sizeof(random));
    return random;
}

LEFT_OUT struct randombytes_implementation randombytes_sysrandom_implementation = {
    .random = number,
    .buf = fill,
};
