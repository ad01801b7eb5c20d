/*
 * tag = (message as a polynomial evaluated at r, mod 2^130 - 5) + s mod 2^128, where the key is
 * r || s and each 16-byte block is a coefficient with a 1 bit added after its last byte.
 *
 * A number has LIMBS limbs of full words, 128 bits together; h has one more limb for its higher
 * bits. Clamping clears the low two bits of every limb of r but the first. So 2^128 r[i] = 2^130
 * (r[i] / 4) = 5 (r[i] / 4) = r[i] + r[i] / 4 =: folded[i], without remainder.
 *
 * h is multiplied by r before a block is added, and once more at the end. A kernel does the same
 * with several h, which are 0 at first, and so needs no special case for its first and last blocks.
 */
#include "poly1305.h"

#include <endian.h>
#include <string.h>

#include "cpu.h"
#include "poly1305_state.h"
#include "zeros.h"

/* RFC 8439 section 2.5: r &= 0x0ffffffc0ffffffc0ffffffc0fffffff. */
void poly1305_begin(struct poly1305_state *state, const uint8_t key[static 32])
{
    static const uint8_t clamp[BLOCK_BYTES] = {
        0xff, 0xff, 0xff, 0x0f, 0xfc, 0xff, 0xff, 0x0f,
        0xfc, 0xff, 0xff, 0x0f, 0xfc, 0xff, 0xff, 0x0f,
    };
    struct scalars *scalars = &state->scalars;
    limb mask[LIMBS];
    read_limbs(mask, clamp);
    read_limbs(scalars->r, key);
    read_limbs(state->s, key + BLOCK_BYTES);
    memset(scalars->h, 0, sizeof(scalars->h));
    for (size_t i = 0; i < LIMBS; i++) {
        scalars->r[i] &= mask[i];
        scalars->folded[i] = scalars->r[i] + (scalars->r[i] >> 2);
    }
}

/* For calls outside of the loops, which share one copy of the code. */
static __attribute__((noinline)) void multiply_once(struct scalars *scalars)
{
    multiply(scalars);
}

static void absorb(struct scalars *restrict scalars, const uint8_t *restrict message, size_t blocks)
{
    for (; blocks > 0; blocks--, message += BLOCK_BYTES) {
        multiply(scalars);
        add_block(scalars->h, message, 1);
    }
}

/* Less than a block. */
static void absorb_last(struct poly1305_state *state, const uint8_t *message, size_t count)
{
    memset(state->last, 0, BLOCK_BYTES);
    memcpy(state->last, message, count);
    state->last[count] = 1;
    multiply_once(&state->scalars);
    add_block(state->scalars.h, state->last, 0);
}

/* The fastest kernel for this number of bytes, or NULL if it is faster without one. */
static const struct poly1305_kernel *find_kernel(size_t count)
{
    const struct poly1305_kernel *found = NULL;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#if defined(__x86_64__)
    enum cpu_level level = cpu_level();
    if (level >= CPU_AVX512IFMA) {
        found = &poly1305_avx512ifma;
    } else if (level >= CPU_AVX512 && count >= poly1305_avx512.least_bytes) {
        found = &poly1305_avx512;
    } else if (level >= CPU_AVX2) {
        found = &poly1305_avx2;
    }
#elif defined(__aarch64__)
    found = &poly1305_neon;
#elif defined(CPU_MAY_HAVE_NEON)
    found = cpu_level() >= CPU_NEON ? &poly1305_neon : NULL;
#endif
#endif
    return found != NULL && count >= found->least_bytes ? found : NULL;
}

static void find_powers(struct poly1305_state *state, const struct poly1305_kernel *kernel)
{
    struct scalars *power = &state->power;
    *power = state->scalars;
    memcpy(power->h, power->r, sizeof(power->r));
    for (size_t square = 0; square < 2; square++) {
        for (size_t i = square == 0; i < kernel->lanes; i++) {
            multiply(power);
        }
        write_digits(state->lanes.power[square], power->h, kernel);
    }
}

/* h goes into the lane by which the last block of a stride is not multiplied any more. */
static void spread(struct poly1305_state *state, const struct poly1305_kernel *kernel)
{
    uint64_t *digit = state->lanes.power[0]; /* which is not needed yet */
    write_zeros(state->lanes.h, kernel->digits * sizeof(state->lanes.h[0]));
    write_digits(digit, state->scalars.h, kernel);
    for (size_t i = 0; i < kernel->digits; i++) {
        state->lanes.h[i][kernel->lanes - 1] = digit[i];
    }
    memset(state->scalars.h, 0, sizeof(state->scalars.h));
}

/* Horner's rule. A sum is below 2^130 + 2^65 + 2^130 + 2^114, which multiply() can take. */
static void join_lanes(struct scalars *restrict sum, const struct poly1305_lanes *restrict lanes,
                       const struct poly1305_kernel *kernel)
{
    for (size_t block = 0; block < kernel->lanes; block++) {
        size_t lane = 2 * block < kernel->lanes ? 2 * block : 2 * block - kernel->lanes + 1;
        multiply(sum);
        add_lane(sum->h, lanes, lane, kernel);
    }
}

/* Takes all whole strides. Returns their bytes. */
static size_t absorb_strides(struct poly1305_state *state, const uint8_t *message, size_t count,
                             const struct poly1305_kernel *kernel)
{
    size_t stride_bytes = 2 * kernel->lanes * BLOCK_BYTES;
    size_t strides = count / stride_bytes;
    spread(state, kernel);
    find_powers(state, kernel);
    kernel->take(&state->lanes, message, strides);
    join_lanes(&state->scalars, &state->lanes, kernel);
    write_zeros(&state->power, sizeof(*state) - offsetof(struct poly1305_state, power));
    return strides * stride_bytes;
}

/* Brings h below 2^130 - 5, adds s and keeps 128 bits. */
static void finish(uint8_t tag[static BLOCK_BYTES], struct poly1305_state *state)
{
    multiply_once(&state->scalars);
    /* Overwrites r, which is not needed any more; the whole state is wiped later. */
    limb *h = state->scalars.h, *reduced = state->scalars.r, *s = state->s;
    wide carry = 5;
    for (size_t i = 0; i < LIMBS; i++) {
        carry += h[i];
        reduced[i] = (limb)carry;
        carry >>= LIMB_BITS;
    }
    /* h + 5 >= 2^130 says h >= 2^130 - 5; subtracting that once is enough, h < 2 (2^130 - 5). */
    limb is_reduced = (h[LIMBS] + (limb)carry) >> 2;
    limb mask = 0 - is_reduced;
    carry = 0;
    for (size_t i = 0; i < LIMBS; i++) {
        carry += (wide)((h[i] & ~mask) | (reduced[i] & mask)) + s[i];
        s[i] = limb_to_little((limb)carry);
        carry >>= LIMB_BITS;
    }
    memcpy(tag, s, BLOCK_BYTES);
}

void poly1305_blocks(struct poly1305_state *state, const uint8_t *message, size_t count)
{
    const struct poly1305_kernel *kernel = find_kernel(count);
    size_t done = kernel != NULL ? absorb_strides(state, message, count, kernel) : 0;
    absorb(&state->scalars, message + done, (count - done) / BLOCK_BYTES);
}

void poly1305_end(uint8_t tag[static 16], struct poly1305_state *state, const uint8_t *message,
                  size_t count)
{
    size_t rest = count % BLOCK_BYTES;
    poly1305_blocks(state, message, count);
    if (rest > 0) {
        absorb_last(state, message + count - rest, rest);
    }
    finish(tag, state);
    write_zeros(state, offsetof(struct poly1305_state, power));
}

void poly1305(uint8_t tag[static 16], const uint8_t *message, size_t count,
              const uint8_t key[static 32])
{
    struct poly1305_state state;
    poly1305_begin(&state, key);
    poly1305_end(tag, &state, message, count);
}
