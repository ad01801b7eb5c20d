/*
 * The times of the option `expiry-time` of authorized_keys.
 */
#ifndef WREN_EXPIRY_H
#define WREN_EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

/* Reads YYYYMMDD[HHMM[SS]] into seconds since 1970: in the system's time zone, or in UTC if `Z` or
 * `UTC` follows. False if the text is anything else, or the day does not exist. */
bool expiry_read(int64_t *seconds, const char *text);

#endif
