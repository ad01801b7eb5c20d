#include "rate_limit.h"

bool rate_limit_allow(struct rate_limit *limit, int64_t now_ms)
{
    limit->rate.line_ms = LIMIT_LISTEN_LINE_MS;
    limit->rate.burst = LIMIT_LISTEN_LINES;
    if (log_rate_allows(&limit->rate, now_ms, 1)) {
        return true;
    }
    if (limit->suppressed++ == 0) {
        limit->summary_ms = now_ms + LIMIT_LISTEN_SUMMARY_MS;
    }
    return false;
}

uint64_t rate_limit_summary(struct rate_limit *limit, int64_t now_ms, bool at_once)
{
    uint64_t count = limit->suppressed;
    if (count == 0 || (!at_once && now_ms < limit->summary_ms)) {
        return 0;
    }
    limit->suppressed = 0;
    return count;
}
