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

#endif
