#include "cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(CPU_MAY_HAVE_NEON)
#include <sys/auxv.h>
#define HWCAP_NEON_BIT                                                                             \
    (1UL << 12) /* HWCAP_NEON of the kernel's asm/hwcap.h, which -nostdinc hides */
#endif

#if defined(__x86_64__)

/* Bits of XCR0: the registers that the operating system saves. For AVX2 those of 16 and 32 bytes;
 * for AVX-512 also those of 64 bytes, the upper sixteen, and the masks. */
#define SAVES_AVX    0x06
#define SAVES_AVX512 (SAVES_AVX | 0xe0)

#define AVX512 (bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL)

/* Faults without bit_OSXSAVE. Volatile, so that the compiler does not move it before the check. */
static unsigned saved_registers(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    return low;
}

/* Not by __builtin_cpu_supports(), whose library executes CPUID a dozen times when a process
 * starts: in a virtual machine each of these goes to the host. */
static enum cpu_level find_level(void)
{
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_OSXSAVE) ||
        (saved_registers() & SAVES_AVX) != SAVES_AVX ||
        !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !(ebx & bit_AVX2)) {
        return CPU_BASELINE;
    }
    if ((ebx & AVX512) != AVX512 || (saved_registers() & SAVES_AVX512) != SAVES_AVX512) {
        return CPU_AVX2;
    }
    return ebx & bit_AVX512IFMA ? CPU_AVX512IFMA : CPU_AVX512;
}

#elif defined(CPU_MAY_HAVE_NEON)

static enum cpu_level find_level(void)
{
    return getauxval(AT_HWCAP) & HWCAP_NEON_BIT ? CPU_NEON : CPU_BASELINE;
}

#else

static enum cpu_level find_level(void)
{
    return CPU_BASELINE;
}

#endif

enum cpu_level cpu_found(void)
{
    static enum cpu_level found;
    static int asked;
    if (!asked) {
        found = find_level();
        asked = 1;
    }
    return found;
}
