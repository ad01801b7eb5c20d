/*
 * What the proofs share. CBMC gives any value to a variable that is not set. ASSUME() cuts away the
 * states that are not valid; PROVE() must hold in all that are left.
 */
#ifndef WREN_PROOFS_H
#define WREN_PROOFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASSUME(condition)      __CPROVER_assume(condition)
#define PROVE(condition, text) __CPROVER_assert(condition, text)

/* A proof with several steps is one program for each, which run.sh compiles with -DSTEP. */
#ifndef STEP
#define STEP 0
#endif

/* The most bytes of a buffer: twice LIMIT_PACKET_BYTES, and more than 16 bits can count. */
#define PROOF_BYTES 70000

/* Any value: CBMC knows functions without a body by this prefix. */
bool nondet_bool(void);
uint8_t nondet_u8(void);
unsigned nondet_unsigned(void);
uint32_t nondet_u32(void);
size_t nondet_size(void);

#endif
