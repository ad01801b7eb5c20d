#include "cpu_masked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    enum cpu_level level;
} masks[] = {{"baseline", CPU_BASELINE}, {"avx2", CPU_AVX2}, {"avx512", CPU_AVX512}};

static enum cpu_level mask = CPU_AVX512IFMA, limit = CPU_AVX512IFMA;

/* Before main(), as the daemon wipes its environment. */
__attribute__((constructor)) static void read_mask(void)
{
    const char *name = getenv("WREN_CPU");
    if (name == NULL || name[0] == '\0') {
        return;
    }
    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        if (strcmp(name, masks[i].name) == 0) {
            mask = masks[i].level;
            return;
        }
    }
    dprintf(STDERR_FILENO, "WREN_CPU=%s: baseline, avx2 and avx512 are known\n", name);
    _exit(100);
}

static enum cpu_level lower(enum cpu_level a, enum cpu_level b)
{
    return a < b ? a : b;
}

enum cpu_level cpu_level(void)
{
    return lower(cpu_found(), lower(mask, limit));
}

void cpu_limit(enum cpu_level highest)
{
    limit = highest;
}
