/*
 * Clocks: wall time, this process's CPU time, and what a series of times comes to.
 */
#ifndef LEAN_MEASURE_H
#define LEAN_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/* CLOCK_MONOTONIC. */
uint64_t measure_now_ns(void);

/* A span of work: what it took on the wall and of the processor. */
struct span {
    uint64_t start_ns, wall_ns;
    uint64_t user_us, system_us;
};

void span_begin(struct span *span);
void span_end(struct span *span);
double span_seconds(const struct span *span);

struct spread {
    uint64_t min, p50, p99, max;
};

/* Of at least one time; sorts them. A percentile is the smallest time that so many do not exceed.
 */
struct spread measure_spread(uint64_t *times, size_t count);

#endif
