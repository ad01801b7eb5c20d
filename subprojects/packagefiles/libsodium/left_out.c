/*
 * sodium_init() lets each algorithm choose its fastest variant, and would so bring every algorithm into every program.
 * Those here have one variant or none, and sodium_init() does not look at the answers. Weak: a program that uses such an
 * algorithm gets the real function along with it.
 */
#include "private/implementations.h"

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
