#include "cpu.h"

#if defined(__ARMEL__)
#include <sys/auxv.h>
#define HWCAP_NEON_BIT                                                                             \
    (1UL << 12) /* HWCAP_NEON of the kernel's asm/hwcap.h, which -nostdinc hides */
#endif

static enum cpu_level limit = CPU_AVX512IFMA;

static enum cpu_level find_level(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        return __builtin_cpu_supports("avx512ifma") ? CPU_AVX512IFMA : CPU_AVX512;
    }
    return __builtin_cpu_supports("avx2") ? CPU_AVX2 : CPU_BASELINE;
#elif defined(__ARMEL__)
    return getauxval(AT_HWCAP) & HWCAP_NEON_BIT ? CPU_NEON : CPU_BASELINE;
#else
    return CPU_BASELINE;
#endif
}

enum cpu_level cpu_level(void)
{
    static enum cpu_level found;
    static int asked;
    if (!asked) {
        found = find_level();
        asked = 1;
    }
    return found < limit ? found : limit;
}

void cpu_limit(enum cpu_level highest)
{
    limit = highest;
}
