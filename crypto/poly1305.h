/*
 * Poly1305 (D. J. Bernstein, 2005; RFC 8439 section 2.5).
 *
 * Constant time. Secret: key, message, tag.
 */
#ifndef WREN_POLY1305_H
#define WREN_POLY1305_H

#include <stddef.h>
#include <stdint.h>

/* The 16-byte tag of `count` bytes under a 32-byte one-time key. */
void poly1305(uint8_t tag[static 16], const uint8_t *message, size_t count,
              const uint8_t key[static 32]);

/* The same in pieces: start, any number of blocks, finish. The members are poly1305.c's own. */
#ifdef __SIZEOF_INT128__
typedef uint64_t poly1305_limb;
#else
typedef uint32_t poly1305_limb;
#endif
#define POLY1305_LIMBS (16 / sizeof(poly1305_limb))

struct poly1305_scalars {
    poly1305_limb h[POLY1305_LIMBS + 1];
    poly1305_limb r[POLY1305_LIMBS];
    poly1305_limb folded[POLY1305_LIMBS];
};

/* For vector instructions: see poly1305_kernel.h. A row of h is a digit's lanes. */
struct poly1305_lanes {
    uint64_t h[5][8] __attribute__((aligned(64)));
    uint64_t power[2][5];
};

struct poly1305_state {
    struct poly1305_scalars scalars;
    poly1305_limb s[POLY1305_LIMBS];
    const struct poly1305_kernel *kernel; /* which of them has h at the moment, or NULL */
    const struct poly1305_kernel *powers_of;
    struct poly1305_lanes lanes; /* not set before there are powers */
};

void poly1305_start(struct poly1305_state *state, const uint8_t key[static 32]);

/* `count` is a multiple of 16 in every call but the last one. Vector instructions work on 256 bytes
 * or less at a time: what a piece has beyond a multiple of that costs more. */
void poly1305_blocks(struct poly1305_state *state, const uint8_t *message, size_t count);

/* Wipes the state. */
void poly1305_finish(uint8_t tag[static 16], struct poly1305_state *state);

#endif
