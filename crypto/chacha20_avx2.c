/* Rotating by whole bytes is moving bytes about within a word. */
#include <immintrin.h>

#define LANES  8
#define KERNEL chacha20_avx2

/* Byte i of each word comes from where byte i of `word` says. */
#define move_bytes(vector, word)                                                                   \
    (lanes) _mm256_shuffle_epi8(                                                                   \
        (__m256i)(vector),                                                                         \
        _mm256_add_epi32(_mm256_set1_epi32(word),                                                  \
                         _mm256_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c, 0, 0x04040404,   \
                                           0x08080808, 0x0c0c0c0c)))
#define rotate_16(vector) move_bytes(vector, 0x01000302)
#define rotate_8(vector)  move_bytes(vector, 0x02010003)
#include "chacha20_lanes.h"
