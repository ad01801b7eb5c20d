/*
 * The byte encodings of NTRU Prime (NIST PQC round 3 submission: Encode, Decode): of vectors of 761
 * integers in the same interval [0, modulus), and of short polynomials.
 */
#ifndef WREN_SNTRUP761_CODE_H
#define WREN_SNTRUP761_CODE_H

#include <stdint.h>

#define SNTRUP761_P           761
#define SNTRUP761_Q           4591
#define SNTRUP761_ROUNDED     1531 /* (q + 2) / 3 */
#define SNTRUP761_SHORT_BYTES 191

#define SNTRUP761_RQ_BYTES      1158
#define SNTRUP761_ROUNDED_BYTES 1007

/* Encode of a rounded polynomial with coefficients in [0, 1531). Overwrites `values`.
 * Constant time. Secret: values. */
void sntrup761_encode_rounded(uint8_t out[static SNTRUP761_ROUNDED_BYTES],
                              uint16_t values[static SNTRUP761_P]);

/* Decode of an element of R/q to values in [0, 4591). Accepts any bytes. Constant time. */
void sntrup761_decode_rq(uint16_t values[static SNTRUP761_P],
                         const uint8_t in[static SNTRUP761_RQ_BYTES]);

/* Encode of a short polynomial, four coefficients a byte. Constant time. Secret: r. */
void sntrup761_encode_short(uint8_t out[static SNTRUP761_SHORT_BYTES],
                            const int8_t r[static SNTRUP761_P]);

#endif
