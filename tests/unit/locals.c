/* What meson.build has the compiler put into locals that nobody has set. */
#include <check.h>
#include <stdint.h>
#include <string.h>

#include "unit.h"

/* The compiler can't tell what becomes of them. */
static void hand_out(uint8_t *bytes)
{
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

__attribute__((noinline)) static void leave_bytes_on_the_stack(void)
{
    uint8_t bytes[512];
    memset(bytes, 0xa5, sizeof(bytes));
    hand_out(bytes);
}

__attribute__((noinline)) static unsigned sum_of_unset_bytes(void)
{
    uint8_t bytes[512];
    unsigned sum = 0;
    hand_out(bytes);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        sum += bytes[i];
    }
    return sum;
}

/* What is sent or logged unset by mistake would reveal what an earlier call left there. */
TEST(unset_locals_are_zero)
{
    leave_bytes_on_the_stack();
    ck_assert_uint_eq(sum_of_unset_bytes(), 0);
}
