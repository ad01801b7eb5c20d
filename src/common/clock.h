/*
 * Time for deadlines: milliseconds of a clock that nobody sets.
 */
#ifndef WREN_CLOCK_H
#define WREN_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Called from many places, of which none is in a hurry. */
__attribute__((noinline, unused)) static int64_t clock_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + (uint32_t)now.tv_nsec / 1000000;
}

/* The time until `deadline_ms` for poll(2): rounded up, never negative; far deadlines are woken up
 * for once an hour. */
static inline int clock_timeout_ms(int64_t deadline_ms)
{
    int64_t left = deadline_ms - clock_now_ms() + 1;
    return left < 0 ? 0 : left > 3600000 ? 3600000 : (int)left;
}

#endif
