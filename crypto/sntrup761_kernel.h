/*
 * The two loops that take most of the time of an encapsulation: sorting and multiplying. Each
 * instruction set has its own pair.
 */
#ifndef WREN_SNTRUP761_KERNEL_H
#define WREN_SNTRUP761_KERNEL_H

#include <stdint.h>

#include "sntrup761_code.h"

/* At least p, and a multiple of the vector length of every instruction set. */
#define SNTRUP761_ROWS   768
#define SNTRUP761_TERMS  768
#define SNTRUP761_WINDOW (SNTRUP761_ROWS + SNTRUP761_TERMS - 1)

struct sntrup761_kernel {
    /* Sorts words in place, smallest first. Constant time. Secret: the words. */
    void (*sort)(int32_t words[static SNTRUP761_ROWS]);

    /*
     * product[i] = r[0] window[i] + r[1] window[i + 1] + ... modulo q, and between -2970 and 7065;
     * each r[j] between -1 and 1, each window[i] between -2295 and 2295. Constant time. Secret: r,
     * product.
     */
    void (*multiply)(int16_t product[static SNTRUP761_ROWS],
                     const int16_t window[static SNTRUP761_WINDOW],
                     const int16_t r[static SNTRUP761_TERMS]);
};

extern const struct sntrup761_kernel sntrup761_baseline;
extern const struct sntrup761_kernel sntrup761_neon; /* ARMv7 */
extern const struct sntrup761_kernel sntrup761_avx2; /* x86_64; AVX-512 gains 1.5 % */

/* The one for cpu_level(). */
const struct sntrup761_kernel *sntrup761_best_kernel(void);

#endif
