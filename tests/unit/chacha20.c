#include "chacha20.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "vectors/hex.h"
#include "vectors/rfc8439.h"

#define ROOM 2100

/* The RFC's last four state words are a 32-bit counter and a 96-bit nonce, ours a 64-bit counter
 * and a 64-bit nonce: the nonce's first word is the counter's upper half. */
START_TEST(vectors_of_rfc_8439)
{
    const struct chacha20_vector *vector = &rfc8439_chacha20[_i];
    uint8_t key[32], nonce[12], in[ROOM], expected[ROOM], out[ROOM];
    ck_assert_uint_eq(unhex(key, sizeof(key), vector->key), sizeof(key));
    ck_assert_uint_eq(unhex(nonce, sizeof(nonce), vector->nonce), sizeof(nonce));
    size_t count = unhex(in, sizeof(in), vector->in);
    ck_assert_uint_eq(unhex(expected, sizeof(expected), vector->out), count);
    uint64_t upper = (uint64_t)nonce[0] | (uint64_t)nonce[1] << 8 | (uint64_t)nonce[2] << 16 |
                     (uint64_t)nonce[3] << 24;
    chacha20_xor(out, in, count, key, nonce + 4, vector->counter | upper << 32);
    ck_assert_msg(memcmp(out, expected, count) == 0, "RFC 8439 %s", vector->section);
}
END_TEST

/* Same bytes as libsodium, and not one more, from and to any alignment, in place or not. */
static void compare(size_t count, uint64_t counter)
{
    uint8_t key[32], nonce[8], in[ROOM + 16], out[ROOM + 16], expected[ROOM + 16];
    size_t in_offset = randombytes_uniform(16), out_offset = randombytes_uniform(16);
    randombytes_buf(key, sizeof(key));
    randombytes_buf(nonce, sizeof(nonce));
    randombytes_buf(in, sizeof(in));
    randombytes_buf(out, sizeof(out));
    memcpy(expected, out, sizeof(out));
    crypto_stream_chacha20_xor_ic(expected + out_offset, in + in_offset, count, nonce, counter,
                                  key);
    chacha20_xor(out + out_offset, in + in_offset, count, key, nonce, counter);
    ck_assert_mem_eq(out, expected, sizeof(out));

    memcpy(out, in, sizeof(in));
    memcpy(expected, in, sizeof(in));
    crypto_stream_chacha20_xor_ic(expected + in_offset, expected + in_offset, count, nonce, counter,
                                  key);
    chacha20_xor(out + in_offset, out + in_offset, count, key, nonce, counter);
    ck_assert_mem_eq(out, expected, sizeof(out));
}

START_TEST(all_short_lengths_as_libsodium)
{
    for (size_t count = 0; count <= 600; count++) {
        compare(count, 1);
    }
}
END_TEST

START_TEST(random_lengths_as_libsodium)
{
    for (int i = 0; i < 2000; i++) {
        compare(randombytes_uniform(ROOM), randombytes_random());
    }
}
END_TEST

START_TEST(counter_carries_past_32_bits)
{
    for (uint64_t back = 0; back < 40; back++) {
        compare(ROOM, ((uint64_t)1 << 32) - back);
        compare(ROOM, ((uint64_t)7 << 32) - back);
    }
}
END_TEST

START_TEST(counter_wraps_at_64_bits)
{
    uint8_t key[32] = {1}, nonce[8] = {2}, across[512] = {0}, after[256] = {0};
    chacha20_xor(across, across, sizeof(across), key, nonce, UINT64_MAX - 1);
    chacha20_xor(after, after, sizeof(after), key, nonce, 0);
    ck_assert_mem_eq(across + 2 * 64, after, sizeof(after));
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("chacha20");
    TCase *tests = tcase_create("chacha20");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, vectors_of_rfc_8439, 0,
                        (int)(sizeof(rfc8439_chacha20) / sizeof(rfc8439_chacha20[0])));
    tcase_add_test(tests, all_short_lengths_as_libsodium);
    tcase_add_test(tests, random_lengths_as_libsodium);
    tcase_add_test(tests, counter_carries_past_32_bits);
    tcase_add_test(tests, counter_wraps_at_64_bits);
    suite_add_tcase(suite, tests);
    return suite;
}
