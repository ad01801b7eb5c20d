/*
 * Encode joins neighbours: r0 in [0, m0) and r1 in [0, m1) become r = r0 + m0 r1 in [0, m0 m1). The
 * low bytes of r are written until the rest is below the limit of 2^14. The rests make a vector of
 * half the length, which is encoded in the same way. The last number is written as a whole.
 *
 * The moduli of a vector are equal, except perhaps the last. They are public, and so is the number
 * of bytes that each pair writes: 1 or 2.
 */
#include "sntrup761_code.h"

#include <stdbool.h>
#include <stddef.h>

#define LIMIT  16384
#define LAYERS 11 /* 761, 381, 191, 96, 48, 24, 12, 6, 3, 2, 1 */

/* A vector of some layer: `count` values below `modulus`, the last one below `last_modulus`. */
struct layer {
    size_t count;
    uint32_t modulus;
    uint32_t last_modulus;
};

/* The result of a pair: `low_bytes` bytes and a value below `modulus`. */
struct pair {
    unsigned low_bytes;
    uint32_t modulus;
};

static struct pair pair_up(uint32_t m0, uint32_t m1)
{
    struct pair pair = {.low_bytes = 0, .modulus = m0 * m1};
    while (pair.modulus >= LIMIT) {
        pair.low_bytes++;
        pair.modulus = (pair.modulus + 255) / 256;
    }
    return pair;
}

static size_t whole_pairs(const struct layer *layer)
{
    return (layer->count - 1) / 2;
}

static bool last_is_paired(const struct layer *layer)
{
    return layer->count % 2 == 0;
}

static struct layer halve(const struct layer *layer)
{
    struct layer half = {
        .count = (layer->count + 1) / 2,
        .modulus = pair_up(layer->modulus, layer->modulus).modulus,
        .last_modulus = layer->last_modulus,
    };
    if (last_is_paired(layer)) {
        half.last_modulus = pair_up(layer->modulus, layer->last_modulus).modulus;
    }
    return half;
}

static unsigned whole_bytes(uint32_t modulus)
{
    unsigned bytes = 0;
    for (; modulus > 1; modulus = (modulus + 255) / 256) {
        bytes++;
    }
    return bytes;
}

static uint8_t *write_low_bytes(uint8_t *out, uint32_t *value, unsigned count)
{
    for (; count > 0; count--) {
        *out++ = (uint8_t)*value;
        *value >>= 8;
    }
    return out;
}

/* Inline, so that the compiler makes one for each number of low bytes, without a loop over them. */
static inline uint8_t *encode_pairs(uint8_t *out, uint16_t *values, size_t pairs, uint32_t modulus,
                                    unsigned low_bytes)
{
    for (size_t i = 0; i < pairs; i++) {
        uint32_t r = values[2 * i] + modulus * values[2 * i + 1];
        out = write_low_bytes(out, &r, low_bytes);
        values[i] = (uint16_t)r;
    }
    return out;
}

static uint8_t *encode_layer(uint8_t *out, uint16_t *values, const struct layer *layer)
{
    struct pair pair = pair_up(layer->modulus, layer->modulus);
    size_t pairs = whole_pairs(layer);
    out = pair.low_bytes == 1 ? encode_pairs(out, values, pairs, layer->modulus, 1)
                              : encode_pairs(out, values, pairs, layer->modulus, 2);
    uint32_t last = values[2 * pairs];
    if (last_is_paired(layer)) {
        last += layer->modulus * values[2 * pairs + 1];
        pair = pair_up(layer->modulus, layer->last_modulus);
        out = write_low_bytes(out, &last, pair.low_bytes);
    }
    values[pairs] = (uint16_t)last;
    return out;
}

void sntrup761_encode_rounded(uint8_t out[static SNTRUP761_ROUNDED_BYTES],
                              uint16_t values[static SNTRUP761_P])
{
    struct layer layer = {SNTRUP761_P, SNTRUP761_ROUNDED, SNTRUP761_ROUNDED};
    for (; layer.count > 1; layer = halve(&layer)) {
        out = encode_layer(out, values, &layer);
    }
    uint32_t whole = values[0];
    (void)write_low_bytes(out, &whole, whole_bytes(layer.last_modulus));
}

/* 2^40 / divisor, rounded up. As long as value * divisor < 2^40, value * invert(divisor) >> 40 is
 * value / divisor, rounded down: rounding up adds less than value / 2^40 < 1 / divisor to the
 * quotient, too little to reach the next integer. */
static uint32_t invert(uint32_t divisor)
{
    return (uint32_t)((((uint64_t)1 << 40) + divisor - 1) / divisor);
}

/* The greatest value: in the layer of 24 values, with two low bytes below. */
_Static_assert(1608ULL * 65536 * 10265 < 1ULL << 40, "quotients are exact");

static inline uint32_t divide(uint32_t value, uint32_t inverse)
{
    return (uint32_t)((uint64_t)value * inverse >> 40);
}

static inline uint32_t read_low_bytes(const uint8_t *in, uint32_t high, unsigned count)
{
    for (; count > 0; count--) {
        high = high << 8 | in[count - 1];
    }
    return high;
}

/* Splits one pair: values[0] mod m0 and values[1] mod m1. With wrong low bytes r can be above m0
 * m1, but not above 2 m0 m1: one subtraction is enough. */
static inline void split(uint16_t values[static 2], uint32_t r, uint32_t m0, uint32_t m0_inverse,
                         uint32_t m1)
{
    uint32_t quotient = divide(r, m0_inverse);
    uint32_t less = quotient - m1;
    values[0] = (uint16_t)(r - quotient * m0);
    values[1] = (uint16_t)(less + (m1 & (0 - (less >> 31))));
}

/* Backwards, so that no value is overwritten before it is read. Inline, so that low_bytes is a
 * constant. */
static inline void decode_pairs(uint16_t *values, const uint8_t *in, size_t pairs, uint32_t modulus,
                                unsigned low_bytes)
{
    const uint32_t inverse = invert(modulus);
    for (size_t i = pairs; i > 0; i--) {
        uint32_t r = read_low_bytes(in + (i - 1) * low_bytes, values[i - 1], low_bytes);
        split(values + 2 * (i - 1), r, modulus, inverse, modulus);
    }
}

/* Turns the half vector that `values` begins with into `layer`. `in` is the layer's low bytes. */
static void decode_layer(uint16_t *values, const uint8_t *in, const struct layer *layer)
{
    struct pair pair = pair_up(layer->modulus, layer->modulus);
    size_t pairs = whole_pairs(layer);
    if (last_is_paired(layer)) {
        struct pair last = pair_up(layer->modulus, layer->last_modulus);
        uint32_t r = read_low_bytes(in + pairs * pair.low_bytes, values[pairs], last.low_bytes);
        split(values + 2 * pairs, r, layer->modulus, invert(layer->modulus), layer->last_modulus);
    } else {
        values[2 * pairs] = values[pairs];
    }
    if (pair.low_bytes == 1) {
        decode_pairs(values, in, pairs, layer->modulus, 1);
    } else {
        decode_pairs(values, in, pairs, layer->modulus, 2);
    }
}

static size_t layer_bytes(const struct layer *layer)
{
    size_t bytes = whole_pairs(layer) * pair_up(layer->modulus, layer->modulus).low_bytes;
    if (last_is_paired(layer)) {
        bytes += pair_up(layer->modulus, layer->last_modulus).low_bytes;
    }
    return bytes;
}

void sntrup761_decode_rq(uint16_t values[static SNTRUP761_P],
                         const uint8_t in[static SNTRUP761_RQ_BYTES])
{
    struct layer layers[LAYERS] = {{SNTRUP761_P, SNTRUP761_Q, SNTRUP761_Q}};
    size_t last = 0;
    for (; layers[last].count > 1; last++) {
        in += layer_bytes(&layers[last]);
        layers[last + 1] = halve(&layers[last]);
    }
    uint32_t modulus = layers[last].last_modulus;
    uint32_t whole = read_low_bytes(in, 0, whole_bytes(modulus));
    values[0] = (uint16_t)(whole - modulus * divide(whole, invert(modulus)));
    while (last > 0) {
        last--;
        in -= layer_bytes(&layers[last]);
        decode_layer(values, in, &layers[last]);
    }
}

void sntrup761_encode_short(uint8_t out[static SNTRUP761_SHORT_BYTES],
                            const int8_t r[static SNTRUP761_P])
{
    for (size_t i = 0; i < SNTRUP761_SHORT_BYTES; i++) {
        unsigned digits = 0;
        for (size_t j = 4 * i + 4; j > 4 * i; j--) {
            digits = digits << 2 | (j > SNTRUP761_P ? 0 : (unsigned)(r[j - 1] + 1));
        }
        out[i] = (uint8_t)digits;
    }
}
