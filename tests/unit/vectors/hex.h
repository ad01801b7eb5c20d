/* Test vectors are written as hexadecimal digits; this makes bytes of them. */
#ifndef WREN_VECTORS_HEX_H
#define WREN_VECTORS_HEX_H

#include <sodium.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "unit.h"

/* Returns the number of bytes; fails the test if `digits` are none or don't fit. */
static inline size_t unhex(uint8_t *out, size_t room, const char *digits)
{
    size_t bytes = 0;
    ck_assert_int_eq(sodium_hex2bin(out, room, digits, strlen(digits), NULL, &bytes, NULL), 0);
    return bytes;
}

#endif
