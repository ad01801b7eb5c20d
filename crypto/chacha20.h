/*
 * ChaCha20 in its original form (D. J. Bernstein, 2008): 64-bit block counter, 64-bit nonce. RFC
 * 8439 section 2.3 is the same permutation with another split of the last four words.
 *
 * Constant time. Secret: keys, message, output.
 */
#ifndef WREN_CHACHA20_H
#define WREN_CHACHA20_H

#include <stddef.h>
#include <stdint.h>

#define CHACHA20_BLOCK_BYTES 64
#define CHACHA20_PAIR_BYTES  (16 * CHACHA20_BLOCK_BYTES) /* the longest stride of any kernel */

/*
 * out[i] = in[i] ^ keystream[i] for `count` bytes. The keystream begins at block `counter`. `in`
 * and `out` are the same buffer or do not overlap.
 */
void chacha20_xor(uint8_t *out, const uint8_t *in, size_t count, const uint8_t key[static 32],
                  const uint8_t nonce[static 8], uint64_t counter);

/*
 * Makes block 0 of the keystream of `lone_key`, and after it the blocks of `key` from block 0 on:
 * as many as this processor makes in one step if `count` bytes of both are needed. Returns the
 * number of blocks of `key`, at least 1.
 */
size_t chacha20_pair(uint8_t keystream[static CHACHA20_PAIR_BYTES], size_t count,
                     const uint8_t lone_key[static 32], const uint8_t key[static 32],
                     const uint8_t nonce[static 8]);

#endif
