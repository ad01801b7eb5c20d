/* Eight blocks at a time, for processors with AVX-512 but not its 52-bit multiplication. */
#include <immintrin.h>

#define LANES                 8
#define MULTIPLY_HALVES(a, b) _mm512_mul_epu32((__m512i)(a), (__m512i)(b))
#define EVEN(a, b)            _mm512_unpacklo_epi64((__m512i)(a), (__m512i)(b))
#define ODD(a, b)             _mm512_unpackhi_epi64((__m512i)(a), (__m512i)(b))
#include "poly1305_x86.h"

const struct poly1305_kernel poly1305_avx512 = {take, DIGITS, DIGIT_BITS, LANES, 3072};
