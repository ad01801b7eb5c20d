/*
 * The smaller of two sizes, the earlier of two times.
 */
#ifndef WREN_MINIMUM_H
#define WREN_MINIMUM_H

#include <stddef.h>
#include <stdint.h>

static inline size_t smaller(size_t one, size_t other)
{
    return one < other ? one : other;
}

static inline uint64_t earlier(uint64_t one_ms, uint64_t other_ms)
{
    return one_ms < other_ms ? one_ms : other_ms;
}

#endif
