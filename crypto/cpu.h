/*
 * What this processor can do, asked once: the kernels in this folder that need more than the
 * architecture's baseline are called only behind an answer of this.
 *
 * Function pointers and branches on the answer, not ifunc: musl's static-pie programs have none.
 */
#ifndef WREN_CPU_H
#define WREN_CPU_H

/* Each of the x86 levels contains the ones before it. */
enum cpu_level {
    CPU_BASELINE,   /* SSE2 on x86_64, NEON on aarch64, plain ARMv7 */
    CPU_NEON,       /* ARMv7 with NEON, little-endian */
    CPU_AVX2,       /* with the operating system's support for its registers */
    CPU_AVX512,     /* F, BW, DQ and VL */
    CPU_AVX512IFMA, /* 52-bit multiplication as well */
};

/* The best level, or the one that cpu_limit() has set if that is lower. No secret is involved. */
enum cpu_level cpu_level(void);

/* For tests and measurements: from now on no level above `highest` is answered. */
void cpu_limit(enum cpu_level highest);

#endif
