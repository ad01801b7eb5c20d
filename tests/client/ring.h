/*
 * Arithmetic in R/m = (Z/m)[x] / (x^761 - x - 1) for a prime m, 3 or 4591. Coefficients are whole
 * numbers between -m/2 and m/2, kept as floats: these hold every whole number below 2^24 exactly,
 * which products of two of them and their differences stay below, and compilers know how to handle
 * many at once.
 */
#ifndef WREN_RING_H
#define WREN_RING_H

#include <stdbool.h>

#include "sntrup761_code.h"

struct polynomial {
    float at[SNTRUP761_P];
};

/* The coefficients' sums of products must stay below 2^24: those of one factor are at most 3. */
void ring_multiply(struct polynomial *product, const struct polynomial *a,
                   const struct polynomial *b, int modulus);

/* 1 / a; false if there is none. */
bool ring_invert(struct polynomial *inverse, const struct polynomial *a, int modulus);

/* Brings every coefficient between -m/2 and m/2. */
void ring_reduce(struct polynomial *a, int modulus);

#endif
