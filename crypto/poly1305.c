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
#include "poly1305_kernel.h"
#include "zeros.h"

#ifdef __SIZEOF_INT128__
typedef uint64_t limb;
typedef unsigned __int128 wide;
#define limb_from_little(x) le64toh(x)
#define limb_to_little(x)   htole64(x)
#else
typedef uint32_t limb;
typedef uint64_t wide;
#define limb_from_little(x) le32toh(x)
#define limb_to_little(x)   htole32(x)
#endif

#define LIMBS     (BLOCK_BYTES / sizeof(limb))
#define LIMB_BITS (8 * sizeof(limb))

struct scalars {
    limb h[LIMBS + 1];
    limb r[LIMBS];
    limb folded[LIMBS];
};

/* All that is secret, to wipe it at once. */
struct state {
    struct scalars scalars;
    limb s[LIMBS];
    uint8_t last[BLOCK_BYTES];
    /* not used without a kernel */
    struct scalars power;
    struct poly1305_lanes lanes;
};

static void read_limbs(limb out[static LIMBS], const uint8_t bytes[static BLOCK_BYTES])
{
    memcpy(out, bytes, BLOCK_BYTES);
    for (size_t i = 0; i < LIMBS; i++) {
        out[i] = limb_from_little(out[i]);
    }
}

#ifdef __SIZEOF_INT128__
#include "poly1305_limbs64.h"
#else
#include "poly1305_limbs32.h"
#endif

/* RFC 8439 section 2.5: r &= 0x0ffffffc0ffffffc0ffffffc0fffffff. */
static void start(struct state *state, const uint8_t key[static 32])
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
static void absorb_last(struct state *state, const uint8_t *message, size_t count)
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

static void find_powers(struct state *state, const struct poly1305_kernel *kernel)
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
static size_t absorb_strides(struct state *state, const uint8_t *message, size_t count,
                             const struct poly1305_kernel *kernel)
{
    size_t stride_bytes = 2 * kernel->lanes * BLOCK_BYTES;
    size_t strides = count / stride_bytes;
    write_zeros(state->lanes.h, kernel->digits * sizeof(state->lanes.h[0]));
    find_powers(state, kernel);
    kernel->take(&state->lanes, message, strides);
    join_lanes(&state->scalars, &state->lanes, kernel);
    return strides * stride_bytes;
}

/* Brings h below 2^130 - 5, adds s and keeps 128 bits. */
static void finish(uint8_t tag[static BLOCK_BYTES], struct state *state)
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

void poly1305(uint8_t tag[static 16], const uint8_t *message, size_t count,
              const uint8_t key[static 32])
{
    const struct poly1305_kernel *kernel = find_kernel(count);
    size_t done = 0;
    struct state state;
    start(&state, key);
    if (kernel != NULL) {
        done = absorb_strides(&state, message, count, kernel);
    }
    absorb(&state.scalars, message + done, (count - done) / BLOCK_BYTES);
    if (count % BLOCK_BYTES > 0) {
        absorb_last(&state, message + count - count % BLOCK_BYTES, count % BLOCK_BYTES);
    }
    finish(tag, &state);
    write_zeros(&state, kernel != NULL ? sizeof(state) : offsetof(struct state, lanes));
}
