/*
 * How many log lines strangers may cause. All times are in milliseconds, from a monotonic clock.
 */
#ifndef WREN_RATE_LIMIT_H
#define WREN_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "limit.h"
#include "log.h"

/* A token bucket of LIMIT_LISTEN_LINES log lines, which gains one each LIMIT_LISTEN_LINE_MS, and a
 * count of the suppressed lines. Initialize with zeros. */
struct rate_limit {
    struct log_rate rate;
    int64_t summary_ms; /* when the count is due, if any lines are suppressed */
    uint64_t suppressed;
};

/* Returns true if a line may be written now; otherwise counts it as suppressed. */
bool rate_limit_allow(struct rate_limit *limit, int64_t now_ms);

/* Returns the count of suppressed lines, and resets it, if the count is due or `at_once`; otherwise
 * 0. */
uint64_t rate_limit_summary(struct rate_limit *limit, int64_t now_ms, bool at_once);

#endif
