/* Every x86_64 has these registers of 16 bytes. A rotation by 16 bits swaps the halves of a word.
 */
#include <emmintrin.h>

#define LANES  4
#define KERNEL chacha20_sse2
#define SWAP   _MM_SHUFFLE(2, 3, 0, 1)
#define rotate_16(vector)                                                                          \
    (lanes) _mm_shufflehi_epi16(_mm_shufflelo_epi16((__m128i)(vector), SWAP), SWAP)
#include "chacha20_lanes.h"
