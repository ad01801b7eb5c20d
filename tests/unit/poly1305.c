#include "poly1305.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "vectors/hex.h"
#include "vectors/rfc8439.h"

#define ROOM 2100

START_TEST(vectors_of_rfc_8439)
{
    const struct poly1305_vector *vector = &rfc8439_poly1305[_i];
    uint8_t key[32], message[ROOM], expected[16], tag[16];
    ck_assert_uint_eq(unhex(key, sizeof(key), vector->key), sizeof(key));
    ck_assert_uint_eq(unhex(expected, sizeof(expected), vector->tag), sizeof(expected));
    size_t count = unhex(message, sizeof(message), vector->message);
    poly1305(tag, message, count, key);
    ck_assert_msg(memcmp(tag, expected, sizeof(tag)) == 0, "RFC 8439 %s", vector->section);
}
END_TEST

static void compare(const uint8_t *message, size_t count, const uint8_t key[static 32])
{
    uint8_t tag[16 + 2] = {0xa5}, expected[16];
    tag[17] = 0x5a;
    crypto_onetimeauth(expected, message, count, key);
    poly1305(tag + 1, message, count, key);
    ck_assert_mem_eq(tag + 1, expected, sizeof(expected));
    ck_assert_uint_eq(tag[0], 0xa5);
    ck_assert_uint_eq(tag[17], 0x5a);
}

START_TEST(all_short_lengths_as_libsodium)
{
    uint8_t key[32], message[600];
    for (size_t count = 0; count <= sizeof(message); count++) {
        randombytes_buf(key, sizeof(key));
        randombytes_buf(message, sizeof(message));
        compare(message, count, key);
    }
}
END_TEST

START_TEST(random_lengths_as_libsodium)
{
    uint8_t key[32], message[ROOM];
    for (int i = 0; i < 5000; i++) {
        size_t offset = randombytes_uniform(16);
        randombytes_buf(key, sizeof(key));
        randombytes_buf(message, sizeof(message));
        compare(message + offset, randombytes_uniform(ROOM - 16), key);
    }
}
END_TEST

/* Long carries and values next to the modulus: keys and messages of few different bytes. */
START_TEST(extreme_bytes_as_libsodium)
{
    static const uint8_t bytes[] = {0x00, 0x01, 0x04, 0x7f, 0x80, 0xfa, 0xfb, 0xfc, 0xff};
    uint8_t key[32], message[160], random[2 * sizeof(message)];
    for (int i = 0; i < 20000; i++) {
        randombytes_buf(random, sizeof(random));
        for (size_t j = 0; j < sizeof(message); j++) {
            size_t which = random[j] < 32 ? random[sizeof(message) + j] : random[0];
            message[j] = bytes[which % sizeof(bytes)];
        }
        memset(key, random[4] % 2 == 0 ? 0xff : 0x00, sizeof(key));
        key[random[1] % sizeof(key)] = bytes[random[2] % sizeof(bytes)];
        compare(message, random[3] % sizeof(message), key);
    }
}
END_TEST

/* r = 1 and blocks of ones bring h as far above 2^130 as it gets, and its lower limbs to all ones.
 */
START_TEST(blocks_of_ones_as_libsodium)
{
    uint8_t key[32] = {0}, message[160];
    memset(message, 0xff, sizeof(message));
    for (int i = 0; i < 32; i++) {
        key[0] = (uint8_t)(i < 8 ? 1 << i : 1);
        key[16] = (uint8_t)i;
        for (size_t count = 0; count <= sizeof(message); count++) {
            compare(message, count, key);
        }
    }
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("poly1305");
    TCase *tests = tcase_create("poly1305");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, vectors_of_rfc_8439, 0,
                        (int)(sizeof(rfc8439_poly1305) / sizeof(rfc8439_poly1305[0])));
    tcase_add_test(tests, all_short_lengths_as_libsodium);
    tcase_add_test(tests, random_lengths_as_libsodium);
    tcase_add_test(tests, extreme_bytes_as_libsodium);
    tcase_add_test(tests, blocks_of_ones_as_libsodium);
    suite_add_tcase(suite, tests);
    return suite;
}
