/*
 * Replaces crypto/cpu_level.c in all that tests link, and in wrensshd-masked: a kernel for more
 * than the environment's WREN_CPU ("baseline", "avx2" or "avx512") is not chosen. Ends the program
 * if WREN_CPU has another value.
 */
#ifndef WREN_CPU_MASKED_H
#define WREN_CPU_MASKED_H

#include "cpu.h"

/* From now on cpu_level() returns at most `highest`, too. */
void cpu_limit(enum cpu_level highest);

#endif
