/*
 * Numbers of 32 bits in network byte order (the uint32 of RFC 4251 section 5).
 */
#ifndef WREN_BIG_ENDIAN_H
#define WREN_BIG_ENDIAN_H

#include <stdint.h>

static inline uint32_t big_endian_read(const uint8_t bytes[static 4])
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static inline void big_endian_write(uint8_t bytes[static 4], uint32_t value)
{
    bytes[0] = (uint8_t)(value >> 24);
    bytes[1] = (uint8_t)(value >> 16);
    bytes[2] = (uint8_t)(value >> 8);
    bytes[3] = (uint8_t)value;
}

#endif
