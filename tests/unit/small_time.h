/* src/static/time.c under names of its own, beside libc's. */
#ifndef WREN_SMALL_TIME_H
#define WREN_SMALL_TIME_H

#include <time.h>

void small_tzset(void);
time_t small_mktime(struct tm *time);
time_t small_timegm(struct tm *time);

#endif
