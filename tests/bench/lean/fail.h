/*
 * The one way out when something is wrong: a benchmark has nothing to rescue.
 */
#ifndef LEAN_FAIL_H
#define LEAN_FAIL_H

/* Writes `wren-lean: PLACE: what` to standard error and exits with 1. */
_Noreturn __attribute__((format(printf, 2, 3))) void fail(const char *place, const char *format,
                                                          ...);

#endif
