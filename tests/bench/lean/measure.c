#include "measure.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

uint64_t measure_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static uint64_t microseconds(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000U + (uint64_t)time->tv_usec;
}

void span_begin(struct span *span)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    span->user_us = microseconds(&usage.ru_utime);
    span->system_us = microseconds(&usage.ru_stime);
    span->start_ns = measure_now_ns();
}

void span_end(struct span *span)
{
    struct rusage usage;
    span->wall_ns = measure_now_ns() - span->start_ns;
    getrusage(RUSAGE_SELF, &usage);
    span->user_us = microseconds(&usage.ru_utime) - span->user_us;
    span->system_us = microseconds(&usage.ru_stime) - span->system_us;
}

double span_seconds(const struct span *span)
{
    return (double)span->wall_ns / 1e9;
}

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

struct spread measure_spread(uint64_t *times, size_t count)
{
    qsort(times, count, sizeof(*times), compare);
    return (struct spread){
        .min = times[0],
        .p50 = times[(count - 1) / 2],
        .p99 = times[(count * 99 + 99) / 100 - 1],
        .max = times[count - 1],
    };
}
