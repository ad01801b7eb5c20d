#include "expiry.h"

#include <string.h>
#include <strings.h>
#include <time.h>

static int number(const char *digits, size_t count)
{
    int value = 0;
    for (size_t i = 0; i < count; i++) {
        value = value * 10 + (digits[i] - '0');
    }
    return value;
}

/* mktime() would take the 31st of February for a day of March. */
static bool is_calendar(const struct tm *time)
{
    static const int days[12] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    unsigned year = (unsigned)time->tm_year + 1900;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (time->tm_mon < 0 || time->tm_mon > 11 || time->tm_mday < 1 ||
        time->tm_mday > days[time->tm_mon] || (time->tm_mon == 1 && time->tm_mday == 29 && !leap)) {
        return false;
    }
    return time->tm_hour < 24 && time->tm_min < 60 && time->tm_sec < 60;
}

bool expiry_read(int64_t *seconds, const char *text)
{
    size_t digits = strspn(text, "0123456789");
    bool utc = strcasecmp(text + digits, "Z") == 0 || strcasecmp(text + digits, "UTC") == 0;
    if ((digits != 8 && digits != 12 && digits != 14) || (!utc && text[digits] != '\0')) {
        return false;
    }
    struct tm time = {
        .tm_year = number(text, 4) - 1900,
        .tm_mon = number(text + 4, 2) - 1,
        .tm_mday = number(text + 6, 2),
        .tm_hour = digits > 8 ? number(text + 8, 2) : 0,
        .tm_min = digits > 8 ? number(text + 10, 2) : 0,
        .tm_sec = digits > 12 ? number(text + 12, 2) : 0,
        .tm_isdst = -1,
    };
    if (!is_calendar(&time)) {
        return false;
    }
    time_t found = utc ? timegm(&time) : mktime(&time);
    *seconds = found;
    return found > 0;
}
