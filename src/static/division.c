/*
 * Division of a static build for ARMv7, instead of libgcc's (the option small_division). Processors
 * of that architecture may lack the instruction. libgcc's functions are unrolled and take 1,300
 * bytes; nothing that is divided here is in a hurry.
 *
 * Names and results: Run-time ABI for the Arm Architecture, section 4.3.1. The quotient is returned
 * in r0 and the remainder in r1: the lower and the upper half of a 64-bit integer.
 */
#include <stdbool.h>
#include <stdint.h>

uint64_t __aeabi_uidivmod(uint32_t numerator, uint32_t denominator);
uint32_t __aeabi_uidiv(uint32_t numerator, uint32_t denominator);
uint64_t __aeabi_idivmod(int32_t numerator, int32_t denominator);
int32_t __aeabi_idiv(int32_t numerator, int32_t denominator);

/* Bit by bit, as on paper. */
uint64_t __aeabi_uidivmod(uint32_t numerator, uint32_t denominator)
{
    if (denominator == 0) {
        __builtin_trap();
    }
    uint64_t remainder_quotient = numerator;
    for (int i = 0; i < 32; i++) {
        bool carry = remainder_quotient >> 63 != 0;
        remainder_quotient <<= 1;
        if (carry || remainder_quotient >> 32 >= denominator) {
            remainder_quotient += 1 - ((uint64_t)denominator << 32);
        }
    }
    return remainder_quotient;
}

uint32_t __aeabi_uidiv(uint32_t numerator, uint32_t denominator)
{
    return (uint32_t)__aeabi_uidivmod(numerator, denominator);
}

static uint32_t magnitude(int32_t number)
{
    return number < 0 ? 0 - (uint32_t)number : (uint32_t)number;
}

/* The quotient is rounded towards zero; the remainder has the numerator's sign (C11, 6.5.5). */
uint64_t __aeabi_idivmod(int32_t numerator, int32_t denominator)
{
    uint64_t both = __aeabi_uidivmod(magnitude(numerator), magnitude(denominator));
    uint32_t quotient = (uint32_t)both;
    uint32_t remainder = (uint32_t)(both >> 32);
    if ((numerator < 0) != (denominator < 0)) {
        quotient = 0 - quotient;
    }
    if (numerator < 0) {
        remainder = 0 - remainder;
    }
    return (uint64_t)remainder << 32 | quotient;
}

int32_t __aeabi_idiv(int32_t numerator, int32_t denominator)
{
    return (int32_t)__aeabi_idivmod(numerator, denominator);
}
