/*
 * The inverse comes from division steps (D. J. Bernstein, B.-Y. Yang, Fast constant-time gcd
 * computation and modular inversion, 2019, section 3), here with branches. For a of R/m, with
 * F = the modulus x^p - x - 1 and G = a, both with their coefficients in reverse order:
 *   one step divides by x what is left of F and G when their constant terms have been
 *   cancelled; after 2 p - 1 of them G is 0, F a constant, and the multiple of G that F then is
 *   has 1 / a, in reverse again, as its factor.
 */
#include "ring.h"

#include <string.h>

#define P     SNTRUP761_P
#define TERMS (P + 1)

/* Adding this to a number below 2^22 leaves no place for what is behind the point. */
#define ROUNDER 12582912.0F

static float reduce(float value, float modulus, float reciprocal)
{
    float quotient = (value * reciprocal + ROUNDER) - ROUNDER;
    return value - modulus * quotient;
}

void ring_reduce(struct polynomial *a, int modulus)
{
    float m = (float)modulus, reciprocal = 1.0F / m;
    for (int i = 0; i < P; i++) {
        a->at[i] = reduce(a->at[i], m, reciprocal);
    }
}

void ring_multiply(struct polynomial *product, const struct polynomial *a,
                   const struct polynomial *b, int modulus)
{
    float wide[2 * P] = {0};
    for (int i = 0; i < P; i++) {
        for (int j = 0; a->at[i] != 0 && j < P; j++) {
            wide[i + j] += a->at[i] * b->at[j];
        }
    }
    /* x^i = x^(i-p+1) + x^(i-p) */
    for (int i = 2 * (P - 1); i >= P; i--) {
        wide[i - P] += wide[i];
        wide[i - P + 1] += wide[i];
    }
    memcpy(product->at, wide, sizeof(product->at));
    ring_reduce(product, modulus);
}

/* 1 / value mod the prime, by trying: once an inversion, and both primes are small. */
static int invert_number(int value, int modulus)
{
    int inverse = 1;
    while ((value * inverse % modulus + modulus) % modulus != 1) {
        inverse++;
    }
    return inverse;
}

/* a = (c a - d b), each coefficient reduced; behind `terms` of them both are 0. */
static void cancel(float *restrict a, const float *restrict b, float c, float d, float modulus,
                   int terms)
{
    const float reciprocal = 1.0F / modulus;
    for (int i = 0; i < terms; i++) {
        a[i] = reduce(c * a[i] - d * b[i], modulus, reciprocal);
    }
}

static void multiply_by_x(float *a)
{
    for (int i = TERMS - 1; i > 0; i--) {
        a[i] = a[i - 1];
    }
    a[0] = 0;
}

static void divide_by_x(float *a)
{
    for (int i = 0; i < TERMS - 1; i++) {
        a[i] = a[i + 1];
    }
    a[TERMS - 1] = 0;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static void swap(float **a, float **b)
{
    float *kept = *a;
    *a = *b;
    *b = kept;
}

/* F = v G + ... and G = r G + ... of the start, up to powers of x, hold at every step. */
bool ring_invert(struct polynomial *inverse, const struct polynomial *a, int modulus)
{
    float rows[4][TERMS] = {{0}};
    float *f = rows[0], *g = rows[1], *v = rows[2], *r = rows[3];
    int ahead = 1; /* by how much the degree of F is above that of G */
    f[0] = 1;
    f[P - 1] = f[P] = -1;
    r[0] = 1;
    for (int i = 0; i < P; i++) {
        g[P - 1 - i] = a->at[i];
    }
    for (int step = 0; step < 2 * P - 1; step++) {
        multiply_by_x(v);
        if (ahead > 0 && g[0] != 0) {
            swap(&f, &g);
            swap(&v, &r);
            ahead = -ahead;
        }
        ahead++;
        float f_0 = f[0], g_0 = g[0];
        cancel(g, f, f_0, g_0, (float)modulus, smaller(TERMS, 2 * P - step));
        cancel(r, v, f_0, g_0, (float)modulus, smaller(TERMS, step + 2));
        divide_by_x(g);
    }
    if (ahead != 0) {
        return false;
    }
    float scale = (float)invert_number((int)f[0], modulus);
    for (int i = 0; i < P; i++) {
        inverse->at[i] = v[P - 1 - i];
    }
    /* A scale above m/2 could take the products to 2^24. */
    if (scale > (float)modulus / 2) {
        scale -= (float)modulus;
    }
    for (int i = 0; i < P; i++) {
        inverse->at[i] *= scale;
    }
    ring_reduce(inverse, modulus);
    return true;
}
