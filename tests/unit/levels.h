/*
 * The levels of crypto/cpu.h, for tests that go through all that the machine has:
 *
 *     TEST_EACH(name, LEVELS)   and in it:   if (!level_set(_i)) { return; }
 */
#ifndef WREN_LEVELS_H
#define WREN_LEVELS_H

#include <stdbool.h>
#include <stdio.h>

#include "cpu_masked.h"

static const struct {
    enum cpu_level level;
    const char *name;
} levels[] = {
    {CPU_BASELINE, "baseline"},
#if defined(__x86_64__)
    {CPU_AVX2, "AVX2"},
    {CPU_AVX512, "AVX-512"},
    {CPU_AVX512IFMA, "AVX-512 with IFMA"},
#elif defined(CPU_MAY_HAVE_NEON)
    {CPU_NEON, "NEON"},
#endif
};
#define LEVELS (int)(sizeof(levels) / sizeof(levels[0]))

/* From now on crypto/ works as on a processor of this level; false if this one doesn't reach it. */
static inline bool level_set(int i)
{
    cpu_limit(levels[i].level);
    return cpu_level() == levels[i].level;
}

/* On standard output: a test that has passed says nothing about levels that the machine lacks. */
static inline void levels_tell(void)
{
    for (int i = 0; i < LEVELS; i++) {
        printf("%s: %s\n", levels[i].name,
               level_set(i)                     ? "tested"
               : cpu_found() >= levels[i].level ? "masked by WREN_CPU"
                                                : "not on this machine");
    }
    fflush(stdout);
    cpu_limit(levels[LEVELS - 1].level);
}

#endif
