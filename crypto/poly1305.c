/*
 * tag = (message as a polynomial evaluated at r, mod 2^130 - 5) + s mod 2^128, where the key is
 * r || s and each 16-byte block is a coefficient with a 1 bit put behind its last byte.
 *
 * A number is held in saturated limbs: LIMBS of them make 128 bits, and h has one more for what
 * stands above. Clamping clears the low two bits of every limb of r but the first. So
 * 2^128 r[i] = 2^130 (r[i] / 4) = 5 (r[i] / 4) = r[i] + r[i] / 4 =: folded[i], without remainder.
 */
#include "poly1305.h"

#include <endian.h>
#include <sodium.h>
#include <string.h>

#define BLOCK_BYTES 16
#define LIMBS       POLY1305_LIMBS
#define LIMB_BITS   (8 * sizeof(limb))

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

void poly1305_blocks(struct poly1305_state *state, const uint8_t *message, size_t count)
{
    struct poly1305_state work = *state;
    for (; count >= BLOCK_BYTES; message += BLOCK_BYTES, count -= BLOCK_BYTES) {
        add_block(work.h, message, 1);
        multiply(work.h, work.r, work.folded);
    }
    if (count > 0) {
        uint8_t last[BLOCK_BYTES] = {0};
        memcpy(last, message, count);
        last[count] = 1;
        add_block(work.h, last, 0);
        multiply(work.h, work.r, work.folded);
        sodium_memzero(last, sizeof(last));
    }
    *state = work;
    sodium_memzero(&work, sizeof(work));
}

/* Brings h below 2^130 - 5, adds s and keeps 128 bits. */
void poly1305_finish(uint8_t tag[static BLOCK_BYTES], struct poly1305_state *state)
{
    limb reduced[LIMBS], sum[LIMBS];
    wide carry = 5;
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
