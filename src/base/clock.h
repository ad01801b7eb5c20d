/*
 * Time for deadlines: milliseconds of CLOCK_MONOTONIC, which no administrator sets.
 */
#ifndef WREN_CLOCK_H
#define WREN_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + (uint32_t)now.tv_nsec / 1000000;
}

/* The time until `deadline_ms` as poll(2) takes it: rounded up, at least 0, at most an hour. */
static inline int clock_timeout_ms(int64_t deadline_ms)
{
    int64_t left = deadline_ms - clock_now_ms() + 1;
    return left < 0 ? 0 : left > 3600000 ? 3600000 : (int)left;
}

#endif
