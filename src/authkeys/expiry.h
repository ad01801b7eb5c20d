/*
 * The times of `expiry-time`.
 */
#ifndef WREN_EXPIRY_H
#define WREN_EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

/* Reads YYYYMMDD[HHMM[SS]], in the system's time zone, or in UTC with `Z` or `UTC` behind it, into
 * seconds since 1970. False if it is anything else, or a day that does not exist. */
bool expiry_read(int64_t *seconds, const char *text);

#endif
