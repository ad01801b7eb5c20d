/* The client's half of sntrup761 against crypto/'s, which the known answers vouch for. */
#include "sntrup761_key.h"

#include <sodium.h>
#include <string.h>

#include "ring.h"
#include "unit.h"

#define ROUNDS      20
#define SLOW_ROUNDS 5

static int rounds(void)
{
    return unit_is_slow() ? SLOW_ROUNDS : ROUNDS;
}

struct pair {
    struct sntrup761_key key;
    uint8_t ciphertext[SNTRUP761_CIPHERTEXT_BYTES], secret[SNTRUP761_SECRET_BYTES];
};

static void make_pair(struct pair *pair)
{
    uint8_t random[SNTRUP761_RANDOM_BYTES];
    randombytes_buf(random, sizeof(random));
    sntrup761_key_make(&pair->key);
    sntrup761_encapsulate(pair->ciphertext, pair->secret, pair->key.public_key, random);
}

UNIT_TIMEOUT(60);

TEST(takes_out_what_was_put_in)
{
    struct pair pair;
    uint8_t secret[SNTRUP761_SECRET_BYTES], last[SNTRUP761_SECRET_BYTES] = {0};
    for (int round = 0; round < rounds(); round++) {
        make_pair(&pair);
        ck_assert(sntrup761_key_decapsulate(secret, &pair.key, pair.ciphertext));
        ck_assert_mem_eq(secret, pair.secret, sizeof(secret));
        ck_assert_mem_ne(secret, last, sizeof(secret));
        memcpy(last, secret, sizeof(last));
    }
}

TEST(refuses_any_other_ciphertext)
{
    struct pair pair;
    uint8_t secret[SNTRUP761_SECRET_BYTES], zeros[SNTRUP761_SECRET_BYTES] = {0};
    make_pair(&pair);
    size_t step = unit_is_slow() ? 13 : 3;
    for (size_t i = 0; i < sizeof(pair.ciphertext); i += step) {
        pair.ciphertext[i] ^= 0x10;
        ck_assert(!sntrup761_key_decapsulate(secret, &pair.key, pair.ciphertext));
        ck_assert_mem_eq(secret, zeros, sizeof(zeros));
        pair.ciphertext[i] ^= 0x10;
    }
    ck_assert(sntrup761_key_decapsulate(secret, &pair.key, pair.ciphertext));
}

TEST(refuses_another_key)
{
    struct pair pair, other;
    uint8_t secret[SNTRUP761_SECRET_BYTES];
    make_pair(&pair);
    make_pair(&other);
    ck_assert(!sntrup761_key_decapsulate(secret, &other.key, pair.ciphertext));
}

TEST(f_is_short_and_balanced)
{
    struct sntrup761_key key;
    int front = 0, positive = 0, weight = 0;
    for (int round = 0; round < rounds(); round++) {
        int own = 0;
        sntrup761_key_make(&key);
        for (int i = 0; i < SNTRUP761_P; i++) {
            ck_assert_int_le(key.f[i], 1);
            ck_assert_int_ge(key.f[i], -1);
            own += key.f[i] != 0;
            positive += key.f[i] == 1;
            front += key.f[i] != 0 && i < SNTRUP761_P / 2;
        }
        ck_assert_int_eq(own, 286);
        weight += own;
    }
    /* Six standard deviations: 60 is one of the signs, about 47 one of the places. */
    ck_assert_int_lt(abs(2 * positive - weight), 2 * 360);
    ck_assert_int_lt(abs(2 * front - weight), 2 * 300);
}

static void expect_one(const struct polynomial *a)
{
    for (int i = 0; i < SNTRUP761_P; i++) {
        ck_assert(a->at[i] == (i == 0 ? 1.0F : 0.0F));
    }
}

/* Products of two large factors are beyond ring_multiply(), so a is small here. */
TEST_EACH(inverses_are_inverses, 2)
{
    const int modulus = _i == 0 ? 3 : SNTRUP761_Q;
    for (int round = 0; round < rounds(); round++) {
        struct polynomial a, inverse, product;
        for (int i = 0; i < SNTRUP761_P; i++) {
            a.at[i] = (float)((int)randombytes_uniform(3) - 1);
        }
        if (!ring_invert(&inverse, &a, modulus)) {
            ck_assert_int_eq(modulus, 3);
            continue;
        }
        ring_multiply(&product, &a, &inverse, modulus);
        expect_one(&product);
    }
}

TEST(zero_has_no_inverse)
{
    struct polynomial zero = {{0}}, inverse;
    ck_assert(!ring_invert(&inverse, &zero, 3));
    ck_assert(!ring_invert(&inverse, &zero, SNTRUP761_Q));
}
