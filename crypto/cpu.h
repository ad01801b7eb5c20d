/*
 * Which instructions this processor has. Kernels in this directory that need more than the
 * architecture's baseline may be called only if cpu_level() allows it.
 *
 * Callers choose by branches and function pointers: musl's static programs have no ifunc.
 */
#ifndef WREN_CPU_H
#define WREN_CPU_H

/* Processors older than ARMv7 have no NEON, and compilers for them no instructions of it. */
#if defined(__ARMEL__) && __ARM_ARCH >= 7
#define CPU_MAY_HAVE_NEON
#endif

/* Each of the x86 levels contains the ones before it. */
enum cpu_level {
    CPU_BASELINE,   /* SSE2 on x86_64, NEON on aarch64, plain ARM */
    CPU_NEON,       /* ARMv7 with NEON, little-endian */
    CPU_AVX2,       /* with the operating system's support for its registers */
    CPU_AVX512,     /* F, BW, DQ and VL */
    CPU_AVX512IFMA, /* also the multiplication of 52 bits */
};

/* The processor's level. No secret is involved. */
enum cpu_level cpu_found(void);

/* The same, or a lower one in tests. */
enum cpu_level cpu_level(void);

#endif
