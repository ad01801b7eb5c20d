/* Four blocks at a time with AVX2. */
#include <immintrin.h>

#define LANES                 4
#define MULTIPLY_HALVES(a, b) _mm256_mul_epu32((__m256i)(a), (__m256i)(b))
#define EVEN(a, b)            _mm256_unpacklo_epi64((__m256i)(a), (__m256i)(b))
#define ODD(a, b)             _mm256_unpackhi_epi64((__m256i)(a), (__m256i)(b))
#include "poly1305_x86.h"

const struct poly1305_kernel poly1305_avx2 = {take, DIGITS, DIGIT_BITS, LANES, 512};
