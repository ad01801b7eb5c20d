/* For crypto/poly1305.c and all of its kernels. */
#include "poly1305.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "levels.h"
#include "poly1305_kernel.h"
#include "slow1305.h"
#include "unit.h"
#include "vectors/hex.h"
#include "vectors/rfc8439.h"

#define ROOM        35200
#define SHORT_BYTES 1100
#define LONG_BYTES  35000
#define VECTORS     (sizeof(rfc8439_poly1305) / sizeof(rfc8439_poly1305[0]))

static uint8_t message[ROOM];
static uint8_t key[32];

UNIT_BEFORE(levels_tell());
UNIT_TIMEOUT(60);

TEST_EACH(vectors_of_rfc_8439, LEVELS)
{
    for (size_t i = 0; level_set(_i) && i < VECTORS; i++) {
        const struct poly1305_vector *vector = &rfc8439_poly1305[i];
        uint8_t expected[16], tag[16];
        ck_assert_uint_eq(unhex(key, sizeof(key), vector->key), sizeof(key));
        ck_assert_uint_eq(unhex(expected, sizeof(expected), vector->tag), sizeof(expected));
        size_t count = unhex(message, sizeof(message), vector->message);
        poly1305(tag, message, count, key);
        ck_assert_msg(memcmp(tag, expected, sizeof(tag)) == 0, "RFC 8439 %s", vector->section);
        slow1305(tag, message, count, key);
        ck_assert_mem_eq(tag, expected, sizeof(tag));
    }
}

static void compare(const uint8_t *bytes, size_t count)
{
    uint8_t tag[16 + 2] = {0xa5}, expected[16];
    tag[17] = 0x5a;
    crypto_onetimeauth_poly1305(expected, bytes, count, key);
    poly1305(tag + 1, bytes, count, key);
    ck_assert_msg(memcmp(tag + 1, expected, 16) == 0, "%zu bytes", count);
    ck_assert_uint_eq(tag[0], 0xa5);
    ck_assert_uint_eq(tag[17], 0x5a);
}

static void compare_with_slow(size_t count)
{
    uint8_t tag[16], expected[16];
    slow1305(expected, message, count, key);
    poly1305(tag, message, count, key);
    ck_assert_msg(memcmp(tag, expected, 16) == 0, "%zu bytes", count);
}

TEST_EACH(all_short_lengths, LEVELS)
{
    for (size_t count = 0; level_set(_i) && count <= SHORT_BYTES; count++) {
        randombytes_buf(key, sizeof(key));
        randombytes_buf(message, count);
        compare(message, count);
        if (count % 16 < 2) {
            compare_with_slow(count);
        }
    }
}

TEST_EACH(random_lengths_and_alignments, LEVELS)
{
    for (int i = 0; level_set(_i) && i < (unit_is_slow() ? 300 : 1500); i++) {
        size_t offset = randombytes_uniform(64);
        size_t count = randombytes_uniform(i % 10 == 0 ? LONG_BYTES : 2 * SHORT_BYTES);
        randombytes_buf(key, sizeof(key));
        randombytes_buf(message + offset, count);
        compare(message + offset, count);
    }
}

/* Long carries and values next to the modulus: keys and messages of few different bytes. */
TEST_EACH(extreme_bytes, LEVELS)
{
    static const uint8_t bytes[] = {0x00, 0x01, 0x04, 0x7f, 0x80, 0xfa, 0xfb, 0xfc, 0xff};
    uint8_t random[2 * SHORT_BYTES];
    for (int i = 0; level_set(_i) && i < (unit_is_slow() ? 600 : 3000); i++) {
        randombytes_buf(random, sizeof(random));
        for (size_t j = 0; j < SHORT_BYTES; j++) {
            size_t which = random[j] < 32 ? random[SHORT_BYTES + j] : random[0];
            message[j] = bytes[which % sizeof(bytes)];
        }
        memset(key, random[4] % 2 == 0 ? 0xff : 0x00, sizeof(key));
        key[random[1] % sizeof(key)] = bytes[random[2] % sizeof(bytes)];
        compare(message, randombytes_uniform(i % 2 == 0 ? 160 : SHORT_BYTES));
    }
}

/* The greatest values: h as far above 2^130 as possible, and all digits full. */
TEST_EACH(all_ones, LEVELS)
{
    memset(message, 0xff, sizeof(message));
    for (unsigned i = 0; level_set(_i) && i < 32; i++) {
        memset(key, i < 16 ? 0xff : 0x00, sizeof(key));
        key[0] = (uint8_t)(i < 24 ? 0xff << i % 8 : 1);
        key[16] = (uint8_t)i;
        for (size_t count = i % 16; count <= SHORT_BYTES; count += 16) {
            compare(message, count);
            if (!unit_is_slow() || count / 16 % 8 == i % 8) {
                compare(message, LONG_BYTES - count);
            }
        }
    }
}

/* With r = 1 the polynomial is the sum of the blocks. Makes it `value` by the last one, if a block
 * can do that: half of the time, if there are four others or more. */
static bool end_with(const struct slow1305 *value, size_t count)
{
    struct slow1305 h = slow1305_polynomial(message, count - 16, key);
    struct slow1305 block = slow1305_subtract(*value, h);
    if (block.word[4] != 1) {
        return false;
    }
    slow1305_write(message + count - 16, &block);
    return true;
}

/* 0 to 5 and p - 1 to p - 6, with s small and such that the sum passes 2^128. */
TEST_EACH(polynomials_beside_the_modulus, LEVELS)
{
    for (uint32_t i = 0; level_set(_i) && i < 12 * 8; i++) {
        struct slow1305 value = {{i % 12}};
        size_t count = 80 + 16 * (size_t)randombytes_uniform(i % 2 == 0 ? 8 : 200);
        if (i % 12 >= 6) {
            value = slow1305_subtract((struct slow1305){{0}}, (struct slow1305){{i % 12 - 5}});
        }
        memset(key, 0, sizeof(key));
        key[0] = 1;
        do {
            randombytes_buf(message, count);
        } while (!end_with(&value, count));
        memset(key + 16, i % 3 == 0 ? 0x00 : 0xff, 16);
        key[16] = (uint8_t)(i % 3 == 1 ? 0xfa + i / 12 : i);
        compare(message, count);
        compare_with_slow(count);
    }
}

/* ---- a kernel by itself, with all that it may be given -------------------------------------- */

static const struct poly1305_kernel *kernel_of(enum cpu_level level)
{
#if defined(__x86_64__)
    static const struct poly1305_kernel *const kernels[] = {
        [CPU_AVX2] = &poly1305_avx2,
        [CPU_AVX512] = &poly1305_avx512,
        [CPU_AVX512IFMA] = &poly1305_avx512ifma,
    };
    return kernels[level];
#elif defined(__AARCH64EL__)
    (void)level;
    return &poly1305_neon;
#elif defined(CPU_MAY_HAVE_NEON)
    return level == CPU_NEON ? &poly1305_neon : NULL;
#else
    (void)level;
    return NULL;
#endif
}

/* What digit i stays below: poly1305_kernel.h. A number has 131 bits, a power of r has 130. */
static uint64_t digit_limit(const struct poly1305_kernel *kernel, size_t i, size_t number_bits)
{
    uint64_t slack = number_bits > 130 ? 1024 : 0;
    if (i + 1 == kernel->digits) {
        return UINT64_C(1) << (number_bits - i * kernel->digit_bits);
    }
    return (UINT64_C(1) << kernel->digit_bits) + slack;
}

/* Mostly the greatest, `rarely` times out of 8 any other. */
static uint64_t any_digit(uint64_t limit, uint32_t rarely)
{
    uint64_t random;
    if (randombytes_uniform(8) >= rarely) {
        return limit - 1;
    }
    randombytes_buf(&random, sizeof(random));
    return randombytes_uniform(2) == 0 ? random % limit : 0;
}

static struct slow1305 number_of(const struct poly1305_kernel *kernel, const uint64_t *digit,
                                 size_t step)
{
    struct slow1305 sum = {{0}};
    for (size_t i = kernel->digits; i-- > 0;) {
        struct slow1305 next = {{(uint32_t)digit[i * step], (uint32_t)(digit[i * step] >> 32)}};
        for (size_t bit = 0; bit < kernel->digit_bits; bit++) {
            sum = slow1305_add(sum, sum);
        }
        sum = slow1305_add(sum, next);
    }
    return sum;
}

/* One stride: h R^2 + block R + block in each lane, in digits that the next stride may be given,
 * or poly1305.c may put together. */
static void check_lane(const struct poly1305_kernel *kernel, const struct poly1305_lanes *before,
                       const struct poly1305_lanes *after, size_t block)
{
    size_t lane = 2 * block < kernel->lanes ? 2 * block : 2 * block - kernel->lanes + 1;
    struct slow1305 expected = number_of(kernel, &before->h[0][lane], 8);
    struct slow1305 found = number_of(kernel, &after->h[0][lane], 8);
    const uint8_t *second = message + (kernel->lanes + block) * 16;
    struct slow1305 first_times_r = slow1305_multiply(slow1305_read(message + block * 16, 16),
                                                      number_of(kernel, before->power[0], 1));
    expected = slow1305_multiply(expected, number_of(kernel, before->power[1], 1));
    expected = slow1305_add(expected, first_times_r);
    expected = slow1305_add(expected, slow1305_read(second, 16));
    ck_assert_mem_eq(&found, &expected, sizeof(found));
    for (size_t i = 0; i < kernel->digits; i++) {
        size_t bits = i + 1 < kernel->digits ? kernel->digit_bits : 130 - i * kernel->digit_bits;
        ck_assert_uint_lt(after->h[i][lane], (UINT64_C(1) << bits) + 1024);
    }
}

TEST_EACH(a_kernel_at_its_limits, LEVELS)
{
    const struct poly1305_kernel *kernel = level_set(_i) ? kernel_of(cpu_level()) : NULL;
    for (uint32_t turn = 0; kernel != NULL && turn < 400; turn++) {
        struct poly1305_lanes before = {.h = {{0}}}, after;
        uint32_t rarely = turn % 8;
        for (size_t i = 0; i < kernel->digits; i++) {
            for (size_t lane = 0; lane < kernel->lanes; lane++) {
                before.h[i][lane] = any_digit(digit_limit(kernel, i, 131), rarely);
            }
            before.power[0][i] = any_digit(digit_limit(kernel, i, 130), rarely);
            before.power[1][i] = any_digit(digit_limit(kernel, i, 130), rarely);
        }
        for (size_t i = 0; i < 2 * 16 * kernel->lanes; i++) {
            message[i] = (uint8_t)(randombytes_uniform(8) < rarely ? randombytes_random() : 0xff);
        }
        after = before;
        kernel->take(&after, message, 1);
        for (size_t block = 0; block < kernel->lanes; block++) {
            check_lane(kernel, &before, &after, block);
        }
    }
}
