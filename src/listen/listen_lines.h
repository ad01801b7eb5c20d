/*
 * How many log lines of one kind strangers can cause: a bucket of LIMIT_LISTEN_LINES, which gets
 * one more each LIMIT_LISTEN_LINE_MS, and a count of the lines that it had nothing left for.
 */
#ifndef WREN_LISTEN_LINES_H
#define WREN_LISTEN_LINES_H

#include <stdbool.h>
#include <stdint.h>

/* All zero at the start. Times are milliseconds of a clock that never goes back. */
struct lines {
    int64_t full_ms;    /* when the bucket is full again */
    int64_t summary_ms; /* when the count is due, if there is one */
    uint64_t left_out;
};

/* True if a line may be written now; otherwise it counts as left out. */
bool lines_take(struct lines *lines, int64_t now_ms);

/* How many lines were left out if that is to be said now, or at any time if `at_once`; they no
 * longer count then. Otherwise 0. */
uint64_t lines_summary(struct lines *lines, int64_t now_ms, bool at_once);

#endif
