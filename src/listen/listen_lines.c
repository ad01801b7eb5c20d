#include "listen_lines.h"

#include "limit.h"

bool lines_take(struct lines *lines, int64_t now_ms)
{
    if (lines->full_ms < now_ms) {
        lines->full_ms = now_ms;
    }
    if (lines->full_ms - now_ms <= (LIMIT_LISTEN_LINES - 1) * LIMIT_LISTEN_LINE_MS) {
        lines->full_ms += LIMIT_LISTEN_LINE_MS;
        return true;
    }
    if (lines->left_out++ == 0) {
        lines->summary_ms = now_ms + LIMIT_LISTEN_SUMMARY_MS;
    }
    return false;
}

uint64_t lines_summary(struct lines *lines, int64_t now_ms, bool at_once)
{
    uint64_t count = lines->left_out;
    if (count == 0 || (!at_once && now_ms < lines->summary_ms)) {
        return 0;
    }
    lines->left_out = 0;
    return count;
}
