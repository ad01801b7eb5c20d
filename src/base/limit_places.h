/*
 * How many connections before their login fit a machine.
 */
#ifndef WREN_LIMIT_PLACES_H
#define WREN_LIMIT_PLACES_H

#include <stdint.h>
#include <sys/param.h>

#include "limit.h"

/* LIMIT_PLACES, or fewer on a machine with little memory. */
static inline unsigned limit_places(uint64_t memory_bytes)
{
    return (unsigned)MIN(MAX(memory_bytes / LIMIT_PLACE_MEMORY_BYTES, LIMIT_PLACES_LEAST),
                         LIMIT_PLACES);
}

#endif
