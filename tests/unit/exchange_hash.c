#include "wire.h"

#include <string.h>

#include "unit.h"

/* FIPS 180-2, appendix B.1 and C.1: "abc". */
static const uint8_t abc_sha256[32] = {
    0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
    0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
static const uint8_t abc_sha512_start[16] = {0xdd, 0xaf, 0x35, 0xa1, 0x93, 0x61, 0x7a, 0xba,
                                             0xcc, 0x41, 0x73, 0x49, 0xae, 0x20, 0x41, 0x31};

TEST(known_answers)
{
    struct exchange_hash hash;
    uint8_t out[HASH_MAX_BYTES];
    exchange_hash_begin(&hash, false);
    exchange_hash_bytes(&hash, "abc", 3);
    ck_assert_uint_eq(exchange_hash_end(&hash, out), 32);
    ck_assert_mem_eq(out, abc_sha256, sizeof(abc_sha256));
    exchange_hash_begin(&hash, true);
    exchange_hash_bytes(&hash, "a", 1);
    exchange_hash_bytes(&hash, "", 0);
    exchange_hash_bytes(&hash, "bc", 2);
    ck_assert_uint_eq(exchange_hash_end(&hash, out), 64);
    ck_assert_mem_eq(out, abc_sha512_start, sizeof(abc_sha512_start));
}

TEST(strings_have_their_length_in_front)
{
    for (size_t count = 0; count < 700; count += 233) {
        uint8_t plain[704], out[HASH_MAX_BYTES], expected[HASH_MAX_BYTES];
        memset(plain, 'x', sizeof(plain));
        plain[0] = plain[1] = 0;
        plain[2] = (uint8_t)(count >> 8);
        plain[3] = (uint8_t)count;
        for (int sha512 = 0; sha512 < 2; sha512++) {
            struct exchange_hash hash;
            exchange_hash_begin(&hash, sha512 == 1);
            exchange_hash_string(&hash, plain + 4, count);
            size_t size = exchange_hash_end(&hash, out);
            if (sha512 == 1) {
                crypto_hash_sha512(expected, plain, 4 + count);
            } else {
                crypto_hash_sha256(expected, plain, 4 + count);
            }
            ck_assert_mem_eq(out, expected, size);
        }
    }
}

TEST(the_state_is_wiped)
{
    struct exchange_hash hash, zero;
    uint8_t out[HASH_MAX_BYTES];
    memset(&zero, 0, sizeof(zero));
    memset(&hash, 0, sizeof(hash));
    for (int sha512 = 0; sha512 < 2; sha512++) {
        exchange_hash_begin(&hash, sha512 == 1);
        exchange_hash_bytes(&hash, "a secret", 8);
        exchange_hash_end(&hash, out);
        ck_assert_mem_eq(&hash, &zero, sizeof(hash));
    }
}
