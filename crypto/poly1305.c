/*
 * tag = (message as a polynomial evaluated at r, mod 2^130 - 5) + s mod 2^128, where the key is
 * r || s and each 16-byte block is a coefficient with a 1 bit put behind its last byte.
 *
 * A number is held in saturated limbs: LIMBS of them make 128 bits, and h has one more for what
 * stands above. Clamping clears the low two bits of every limb of r but the first. So
 * 2^128 r[i] = 2^130 (r[i] / 4) = 5 (r[i] / 4) = r[i] + r[i] / 4 =: folded[i], without remainder.
 *
 * h is multiplied before a block is added, not after: what is left to do is a last multiplication.
 * A kernel, which does the same to several h, can then start from one and end with one without
 * treating its first or last blocks in a way of their own.
 */
#include "poly1305.h"

#include <endian.h>
#include <sodium.h>
#include <string.h>

#include "cpu.h"
#include "poly1305_kernel.h"

#define LIMBS     POLY1305_LIMBS
#define LIMB_BITS (8 * sizeof(limb))

#define STRIDES_TO_PAY 3 /* below that, powers and partings cost more than lanes save */

typedef poly1305_limb limb;
#ifdef __SIZEOF_INT128__
typedef unsigned __int128 wide;
#define limb_from_little(x) le64toh(x)
#define limb_to_little(x)   htole64(x)
#else
typedef uint64_t wide;
#define limb_from_little(x) le32toh(x)
#define limb_to_little(x)   htole32(x)
#endif

static void read_limbs(limb out[static LIMBS], const uint8_t bytes[static BLOCK_BYTES])
{
    memcpy(out, bytes, BLOCK_BYTES);
    for (size_t i = 0; i < LIMBS; i++) {
        out[i] = limb_from_little(out[i]);
    }
}

/* RFC 8439 section 2.5: r &= 0x0ffffffc0ffffffc0ffffffc0fffffff. */
void poly1305_start(struct poly1305_state *state, const uint8_t key[static 32])
{
    static const uint8_t clamp[BLOCK_BYTES] = {
        0xff, 0xff, 0xff, 0x0f, 0xfc, 0xff, 0xff, 0x0f,
        0xfc, 0xff, 0xff, 0x0f, 0xfc, 0xff, 0xff, 0x0f,
    };
    limb mask[LIMBS];
    read_limbs(mask, clamp);
    read_limbs(state->r, key);
    read_limbs(state->s, key + BLOCK_BYTES);
    memset(state->h, 0, sizeof(state->h));
    for (size_t i = 0; i < LIMBS; i++) {
        state->r[i] &= mask[i];
        state->folded[i] = state->r[i] + (state->r[i] >> 2);
    }
    state->kernel = NULL;
    state->has_powers = 0;
}

/* h += block + marker 2^128 */
static inline void add_block(limb h[static LIMBS + 1], const uint8_t block[static BLOCK_BYTES],
                             limb marker)
{
    limb value[LIMBS];
    wide carry = 0;
    read_limbs(value, block);
    for (size_t i = 0; i < LIMBS; i++) {
        carry += (wide)h[i] + value[i];
        h[i] = (limb)carry;
        carry >>= LIMB_BITS;
    }
    h[LIMBS] += marker + (limb)carry;
}

/* h *= r. What stands at 2^130 and above comes back times 5; h stays below 2^130 + 2^64. */
static inline void multiply(limb h[static LIMBS + 1], const limb r[static LIMBS],
                            const limb folded[static LIMBS])
{
    limb product[LIMBS];
    wide carry = 0;
    for (size_t i = 0; i < LIMBS; i++) {
        for (size_t j = 0; j <= LIMBS; j++) {
            if (j <= i) {
                carry += (wide)h[j] * r[i - j];
            } else if (j < LIMBS + i) {
                carry += (wide)h[j] * folded[LIMBS + i - j];
            }
        }
        product[i] = (limb)carry;
        carry >>= LIMB_BITS;
    }
    limb top = h[LIMBS] * r[0] + (limb)carry;
    carry = (wide)(top >> 2) + (top & ~(limb)3);
    for (size_t i = 0; i < LIMBS; i++) {
        carry += product[i];
        h[i] = (limb)carry;
        carry >>= LIMB_BITS;
    }
    h[LIMBS] = (top & 3) + (limb)carry;
}

/* Where it is not in a loop of its own, one copy will do. */
static __attribute__((noinline)) void multiply_by_r(const struct poly1305_state *state,
                                                    limb h[static LIMBS + 1])
{
    multiply(h, state->r, state->folded);
}

static __attribute__((noinline)) void absorb(struct poly1305_state *state, const uint8_t *message,
                                             size_t blocks, limb marker)
{
    limb h[LIMBS + 1], r[LIMBS], folded[LIMBS];
    memcpy(h, state->h, sizeof(h));
    memcpy(r, state->r, sizeof(r));
    memcpy(folded, state->folded, sizeof(folded));
    for (; blocks > 0; blocks--, message += BLOCK_BYTES) {
        multiply(h, r, folded);
        add_block(h, message, marker);
    }
    memcpy(state->h, h, sizeof(h));
    sodium_memzero(h, sizeof(h));
    sodium_memzero(r, sizeof(r));
    sodium_memzero(folded, sizeof(folded));
}

static void absorb_bytes(struct poly1305_state *state, const uint8_t *message, size_t count)
{
    size_t rest = count % BLOCK_BYTES;
    absorb(state, message, count / BLOCK_BYTES, 1);
    if (rest > 0) {
        uint8_t last[BLOCK_BYTES] = {0};
        memcpy(last, message + count - rest, rest);
        last[rest] = 1;
        absorb(state, last, 1, 0);
        sodium_memzero(last, sizeof(last));
    }
}

static const struct poly1305_kernel *find_kernel(void)
{
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    return NULL;
#elif defined(__x86_64__)
    enum cpu_level level = cpu_level();
    if (level >= CPU_AVX512) {
        return level >= CPU_AVX512IFMA ? &poly1305_avx512ifma : &poly1305_avx512;
    }
    return level >= CPU_AVX2 ? &poly1305_avx2 : NULL;
#elif defined(__aarch64__)
    return &poly1305_neon;
#elif defined(__arm__)
    return cpu_level() >= CPU_NEON ? &poly1305_neon : NULL;
#else
    return NULL;
#endif
}

/* The last digit keeps what stands above it. */
static void write_digits(uint64_t digit[static 5], const limb h[static LIMBS + 1],
                         const struct poly1305_kernel *kernel)
{
    for (size_t i = 0; i < kernel->digits; i++) {
        size_t at = i * kernel->digit_bits / LIMB_BITS, shift = i * kernel->digit_bits % LIMB_BITS;
        uint64_t two_limbs = (uint64_t)(((wide)h[at + 1] << LIMB_BITS | h[at]) >> shift);
        uint64_t mask = (UINT64_C(1) << kernel->digit_bits) - 1;
        digit[i] = i + 1 < kernel->digits ? two_limbs & mask : two_limbs;
    }
}

static void add_digit(limb h[static LIMBS + 1], uint64_t digit, size_t bits)
{
    wide carry = (wide)digit << bits % LIMB_BITS;
    for (size_t i = bits / LIMB_BITS; i < LIMBS; i++) {
        carry += h[i];
        h[i] = (limb)carry;
        carry >>= LIMB_BITS;
    }
    h[LIMBS] += (limb)carry;
}

static void find_powers(struct poly1305_state *state, const struct poly1305_kernel *kernel)
{
    limb power[LIMBS + 1] = {0};
    memcpy(power, state->r, sizeof(state->r));
    for (size_t i = 1; i < 2 * kernel->lanes; i++) {
        if (i == kernel->lanes) {
            write_digits(state->lanes.power[0], power, kernel);
        }
        multiply_by_r(state, power);
    }
    write_digits(state->lanes.power[1], power, kernel);
    sodium_memzero(power, sizeof(power));
}

static void enter_lanes(struct poly1305_state *state, const struct poly1305_kernel *kernel)
{
    uint64_t digit[5];
    if (!state->has_powers) {
        find_powers(state, kernel);
        state->has_powers = 1;
    }
    memset(state->lanes.h, 0, sizeof(state->lanes.h));
    write_digits(digit, state->h, kernel);
    for (size_t i = 0; i < kernel->digits; i++) {
        state->lanes.h[i][kernel->lanes - 1] = digit[i];
    }
    state->kernel = kernel;
    sodium_memzero(digit, sizeof(digit));
}

static void leave_lanes(struct poly1305_state *state)
{
    const struct poly1305_kernel *kernel = state->kernel;
    memset(state->h, 0, sizeof(state->h));
    for (size_t block = 0; block < kernel->lanes; block++) {
        size_t lane = 2 * block < kernel->lanes ? 2 * block : 2 * block - kernel->lanes + 1;
        multiply_by_r(state, state->h);
        for (size_t i = 0; i < kernel->digits; i++) {
            add_digit(state->h, state->lanes.h[i][lane], i * kernel->digit_bits);
        }
    }
    state->kernel = NULL;
}

void poly1305_blocks(struct poly1305_state *state, const uint8_t *message, size_t count)
{
    const struct poly1305_kernel *kernel = state->kernel != NULL ? state->kernel : find_kernel();
    size_t stride_bytes = kernel != NULL ? 2 * kernel->lanes * BLOCK_BYTES : SIZE_MAX;
    if (state->kernel == NULL && count / STRIDES_TO_PAY >= stride_bytes) {
        enter_lanes(state, kernel);
    }
    if (state->kernel != NULL) {
        size_t strides = count / stride_bytes;
        if (strides > 0) {
            kernel->take(&state->lanes, message, strides);
        }
        message += strides * stride_bytes;
        count -= strides * stride_bytes;
    }
    if (count > 0) {
        if (state->kernel != NULL) {
            leave_lanes(state);
        }
        absorb_bytes(state, message, count);
    }
}

/* Brings h below 2^130 - 5, adds s and keeps 128 bits. */
void poly1305_finish(uint8_t tag[static BLOCK_BYTES], struct poly1305_state *state)
{
    limb reduced[LIMBS], sum[LIMBS];
    wide carry = 5;
    if (state->kernel != NULL) {
        leave_lanes(state);
    }
    multiply_by_r(state, state->h);
    for (size_t i = 0; i < LIMBS; i++) {
        carry += state->h[i];
        reduced[i] = (limb)carry;
        carry >>= LIMB_BITS;
    }
    /* h + 5 >= 2^130 says h >= 2^130 - 5; subtracting that once is enough, h < 2 (2^130 - 5). */
    limb is_reduced = (state->h[LIMBS] + (limb)carry) >> 2;
    limb mask = 0 - is_reduced;
    carry = 0;
    for (size_t i = 0; i < LIMBS; i++) {
        limb h = (state->h[i] & ~mask) | (reduced[i] & mask);
        carry += (wide)h + state->s[i];
        sum[i] = limb_to_little((limb)carry);
        carry >>= LIMB_BITS;
    }
    memcpy(tag, sum, BLOCK_BYTES);
    sodium_memzero(reduced, sizeof(reduced));
    sodium_memzero(sum, sizeof(sum));
    sodium_memzero(state, sizeof(*state));
}

void poly1305(uint8_t tag[static 16], const uint8_t *message, size_t count,
              const uint8_t key[static 32])
{
    struct poly1305_state state;
    poly1305_start(&state, key);
    poly1305_blocks(&state, message, count);
    poly1305_finish(tag, &state);
}
