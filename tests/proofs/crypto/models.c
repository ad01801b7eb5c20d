/* Runs the instructions that machine.py has models of, on random values: each line has a name, the
 * arguments and the result, as words of so many bits in hexadecimal. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void draw(void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ((uint8_t *)bytes)[i] = (uint8_t)(rand() >> 7);
    }
}

static void show(const void *bytes, size_t count, size_t word_bytes)
{
    for (size_t at = 0; at < count; at += word_bytes) {
        printf(at == 0 ? " " : ",");
        for (size_t i = word_bytes; i > 0; i--) {
            printf("%02x", ((const uint8_t *)bytes)[at + i - 1]);
        }
    }
}

#define SHOW(value, word_bytes) show(&(value), sizeof(value), word_bytes)

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx2"))) static void try_bytes(void)
{
    __m256i a, b, result;
    draw(&a, sizeof(a));
    draw(&b, sizeof(b));
    result = _mm256_shuffle_epi8(a, b);
    printf("llvm.x86.avx2.pshuf.b");
    SHOW(a, 1);
    SHOW(b, 1);
    SHOW(result, 1);
    printf("\n");
}

__attribute__((target("avx512f,avx512ifma"))) static void try_madd(void)
{
    __m512i a, b, c, low, high;
    draw(&a, sizeof(a));
    draw(&b, sizeof(b));
    draw(&c, sizeof(c));
    low = _mm512_madd52lo_epu64(a, b, c);
    high = _mm512_madd52hi_epu64(a, b, c);
    printf("llvm.x86.avx512.vpmadd52l.uq.512");
    SHOW(a, 8);
    SHOW(b, 8);
    SHOW(c, 8);
    SHOW(low, 8);
    printf("\nllvm.x86.avx512.vpmadd52h.uq.512");
    SHOW(a, 8);
    SHOW(b, 8);
    SHOW(c, 8);
    SHOW(high, 8);
    printf("\n");
}

static void try_all(void)
{
    if (__builtin_cpu_supports("avx2")) {
        try_bytes();
    }
    if (__builtin_cpu_supports("avx512ifma")) {
        try_madd();
    }
}

#else
#include <arm_neon.h>

#define TRY_SHIFT(name, function, bits)                                                            \
    do {                                                                                           \
        uint32x4_t result = function(a, b, bits);                                                  \
        uint32_t shift = bits;                                                                     \
        printf(name);                                                                              \
        SHOW(a, 4);                                                                                \
        SHOW(b, 4);                                                                                \
        SHOW(shift, 4);                                                                            \
        SHOW(result, 4);                                                                           \
        printf("\n");                                                                              \
    } while (0)

static void try_all(void)
{
    uint32x4_t a, b;
    uint32x2_t c, d;
    uint64x2_t product;
    uint32_t words[16];
    draw(&a, sizeof(a));
    draw(&b, sizeof(b));
    draw(&c, sizeof(c));
    draw(&d, sizeof(d));
    draw(words, sizeof(words));
    TRY_SHIFT("llvm.aarch64.neon.vsri.v4i32", vsriq_n_u32, 20);
    TRY_SHIFT("llvm.aarch64.neon.vsri.v4i32", vsriq_n_u32, 25);
    TRY_SHIFT("llvm.aarch64.neon.vsli.v4i32", vsliq_n_u32, 6);
    TRY_SHIFT("llvm.aarch64.neon.vsli.v4i32", vsliq_n_u32, 18);
    product = vmull_u32(c, d);
    printf("llvm.aarch64.neon.umull.v2i64");
    SHOW(c, 4);
    SHOW(d, 4);
    SHOW(product, 8);
    uint32x4x4_t loaded = vld4q_u32(words);
    printf("\nllvm.aarch64.neon.ld4.v4i32");
    SHOW(words, 4);
    SHOW(loaded, 4);
    printf("\n");
#ifdef __aarch64__
    uint8x16_t place, result;
    draw(&place, sizeof(place));
    place = vandq_u8(place, vdupq_n_u8(31));
    result = vqtbl1q_u8(vreinterpretq_u8_u32(a), place);
    printf("llvm.aarch64.neon.tbl1.v16i8");
    SHOW(a, 1);
    SHOW(place, 1);
    SHOW(result, 1);
    printf("\n");
#endif
}
#endif

int main(void)
{
    for (int round = 0; round < 500; round++) {
        try_all();
    }
    return 0;
}
