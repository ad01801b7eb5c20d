/*
 * Poly1305 as RFC 8439 section 2.5.1 words it, a bit at a time, by doubling and adding: slow enough
 * to see that it is right. Numbers are always below p = 2^130 - 5.
 */
#ifndef WREN_SLOW1305_H
#define WREN_SLOW1305_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slow1305 {
    uint32_t word[5];
};

static const struct slow1305 slow1305_p = {{0xfffffffb, 0xffffffff, 0xffffffff, 0xffffffff, 3}};

/* sum = a + b + carry or a - b - carry, which ends with the carry. */
static inline uint32_t slow1305_sum(struct slow1305 *sum, const struct slow1305 *a,
                                    const struct slow1305 *b, bool minus)
{
    uint32_t carry = 0;
    for (int i = 0; i < 5; i++) {
        uint64_t whole = minus ? (uint64_t)a->word[i] - b->word[i] - carry
                               : (uint64_t)a->word[i] + b->word[i] + carry;
        sum->word[i] = (uint32_t)whole;
        carry = (uint32_t)(whole >> 32) & 1;
    }
    return carry;
}

static inline struct slow1305 slow1305_add(struct slow1305 a, struct slow1305 b)
{
    struct slow1305 sum, less;
    slow1305_sum(&sum, &a, &b, false);
    return slow1305_sum(&less, &sum, &slow1305_p, true) == 0 ? less : sum;
}

static inline struct slow1305 slow1305_subtract(struct slow1305 a, struct slow1305 b)
{
    struct slow1305 difference;
    slow1305_sum(&difference, &slow1305_p, &b, true);
    return slow1305_add(a, difference);
}

static inline struct slow1305 slow1305_multiply(struct slow1305 a, struct slow1305 b)
{
    struct slow1305 product = {{0}};
    for (int bit = 129; bit >= 0; bit--) {
        product = slow1305_add(product, product);
        if (b.word[bit / 32] >> bit % 32 & 1) {
            product = slow1305_add(product, a);
        }
    }
    return product;
}

/* A block of 1 to 16 bytes with the 1 behind its last. */
static inline struct slow1305 slow1305_read(const uint8_t *block, size_t count)
{
    struct slow1305 number = {{0}};
    for (size_t i = 0; i < count; i++) {
        number.word[i / 4] |= (uint32_t)block[i] << 8 * (i % 4);
    }
    number.word[count / 4] |= UINT32_C(1) << 8 * (count % 4);
    return number;
}

static inline void slow1305_write(uint8_t block[static 16], const struct slow1305 *number)
{
    for (size_t i = 0; i < 16; i++) {
        block[i] = (uint8_t)(number->word[i / 4] >> 8 * (i % 4));
    }
}

static inline struct slow1305 slow1305_polynomial(const uint8_t *message, size_t count,
                                                  const uint8_t key[static 32])
{
    struct slow1305 h = {{0}}, r = {{0}};
    for (size_t i = 0; i < 16; i++) {
        uint32_t clamp = i % 4 == 3 ? 0x0f : i % 4 == 0 && i > 0 ? 0xfc : 0xff;
        r.word[i / 4] |= (key[i] & clamp) << 8 * (i % 4);
    }
    for (size_t at = 0; at < count; at += 16) {
        size_t left = count - at;
        h = slow1305_add(h, slow1305_read(message + at, left < 16 ? left : 16));
        h = slow1305_multiply(h, r);
    }
    return h;
}

static inline void slow1305(uint8_t tag[static 16], const uint8_t *message, size_t count,
                            const uint8_t key[static 32])
{
    struct slow1305 h = slow1305_polynomial(message, count, key), s = {{0}};
    for (size_t i = 0; i < 16; i++) {
        s.word[i / 4] |= (uint32_t)key[16 + i] << 8 * (i % 4);
    }
    slow1305_sum(&h, &h, &s, false);
    slow1305_write(tag, &h);
}

#endif
