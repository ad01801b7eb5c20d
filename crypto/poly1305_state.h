/*
 * Poly1305 in steps, for chachapoly.c, which has a kernel of ChaCha20 do one of them. poly1305.c
 * says what the limbs are.
 */
#ifndef WREN_POLY1305_STATE_H
#define WREN_POLY1305_STATE_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "poly1305_kernel.h"

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

/* All that is secret. */
struct poly1305_state {
    struct scalars scalars;
    limb s[LIMBS];
    uint8_t last[BLOCK_BYTES];
    /* not used without a kernel, which wipes them */
    struct scalars power;
    struct poly1305_lanes lanes;
};

static inline void read_limbs(limb out[static LIMBS], const uint8_t bytes[static BLOCK_BYTES])
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

void poly1305_begin(struct poly1305_state *state, const uint8_t key[static 32]);

/* Absorbs `count` bytes, whole blocks. */
void poly1305_blocks(struct poly1305_state *state, const uint8_t *message, size_t count);

/* Absorbs the last `count` bytes, makes the tag, and wipes the state. */
void poly1305_end(uint8_t tag[static 16], struct poly1305_state *state, const uint8_t *message,
                  size_t count);

#endif
