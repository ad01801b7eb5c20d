/*
 * Dates of expiry-time, by strptime(3), timegm(3), mktime(3) and gmtime(3) as a second opinion.
 *
 * Rules, as the product differs here by design: strptime() reads shorter years, blanks and a
 * second 60; a date must have its 8, 12 or 14 digits.
 *
 * Input: a byte with the zone, then the date.
 */
#define _XOPEN_SOURCE 700
#include "authkeys_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "fuzz.h"

#define DATE_BYTES 64

/* Rules, and a zone of the system if it has it. */
static const char *const zones[] = {
    "UTC0",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "EST5EDT,M3.2.0,M11.1.0",
    "<+0545>-5:45",
    "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
    "AEST-10AEDT,M10.1.0,M4.1.0/3",
    "XXX4YYY,59/3,299",
    ":Europe/Berlin",
};
#define ZONES (sizeof(zones) / sizeof(zones[0]))

/* ---- the date -------------------------------------------------------------------------------- */

/* Reads the date, and wants to find it in the calendar again. */
static bool read_date(struct tm *date, const char *text, bool *utc)
{
    char digits[DATE_BYTES];
    size_t count = strspn(text, "0123456789");
    const char *rest = text + count;
    if ((count != 8 && count != 12 && count != 14) || strlen(text) >= DATE_BYTES) {
        return false;
    }
    *utc = rest[0] != '\0';
    if (*utc && strcasecmp(rest, "Z") != 0 && strcasecmp(rest, "UTC") != 0) {
        return false;
    }
    snprintf(digits, sizeof(digits), "%.*s%s", (int)count, text,
             count == 8    ? "000000"
             : count == 12 ? "00"
                           : "");
    char shown[DATE_BYTES];
    memset(date, 0, sizeof(*date));
    const char *end = strptime(digits, "%Y%m%d%H%M%S", date);
    if (end == NULL || *end != '\0') {
        return false;
    }
    struct tm wanted = *date, found;
    time_t at = timegm(&wanted);
    gmtime_r(&at, &found);
    strftime(shown, sizeof(shown), "%Y%m%d%H%M%S", &found);
    /* strftime() writes years below 1000 with fewer digits; they have ended anyway. */
    return strcmp(shown, digits) == 0;
}

static void check(const char *text)
{
    int64_t found = INT64_MIN;
    struct tm date;
    bool utc;
    bool good = expiry_read(&found, text);
    if (!read_date(&date, text, &utc)) {
        FUZZ_CHECK(!good);
        return;
    }
    struct tm utc_date = date, local = date;
    local.tm_isdst = -1;
    time_t in_utc = timegm(&utc_date), in_zone = mktime(&local);
    FUZZ_CHECK(good == ((utc ? in_utc : in_zone) > 0));
    FUZZ_CHECK(!good || found == (utc ? in_utc : in_zone));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    char text[DATE_BYTES];
    setenv("TZ", zones[input_u8(&input) % ZONES], 1);
    tzset();
    input_text(input, text, sizeof(text));
    check(text);
    return 0;
}
