/*
 * Dates of expiry-time, by strptime(3), timegm(3) and gmtime(3) as a second opinion; and the small
 * mktime() and timegm() of a static build beside libc's.
 *
 * Rules, as the product differs here by design: strptime() reads shorter years, blanks and a
 * second 60; a date must have its 8, 12 or 14 digits. A time that the clock shows twice may be
 * either. One that the clock skips is taken by the small function as after the change; libc may
 * take it as before. glibc reads a rule with the year of UTC, so no change is near a year's end.
 * Dates of 1970 are left out where the zone's offset could make the time negative.
 *
 * Input: a byte with the form, and the zone: a number, or the text of a rule up to a newline; then
 * the date.
 */
#define _XOPEN_SOURCE 700
#include "match.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <time.h>

#include "fuzz.h"
#include "small_time.h"

#define DATE_BYTES 64
#define ZONE_BYTES 80

/* Rules, and zones of the system if it has them. */
static const char *const zones[] = {
    "UTC0",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "EST5EDT,M3.2.0,M11.1.0",
    "<+0545>-5:45",
    "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
    "IST-2IDT,M3.4.4/26,M10.5.0",
    "IST-1GMT0,M10.5.0,M3.5.0/1",
    "AEST-10AEDT,M10.1.0,M4.1.0/3",
    "XXX4YYY2:30,J60/1:30,J300/0:10:20",
    "XXX4YYY,59/3,299",
    ":Europe/Berlin",
    "America/New_York",
    "Africa/Casablanca",
    "Asia/Gaza",
    "Australia/Lord_Howe",
    ":Pacific/Apia",
};
#define ZONES (sizeof(zones) / sizeof(zones[0]))

/* The small tzset() keeps its file mapped: a process calls it once. Here each input does, and a
 * process may have 65,530 mappings. `zone_file` is the last one. */
static struct {
    void *at;
    size_t bytes;
} zone_file;

/* ld's --wrap puts these in the place of mmap(2). A build that counts lines maps files as well, but
 * to write them. */
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    void *found = __real_mmap(at, bytes, protection, flags, fd, offset);
    if (found != MAP_FAILED && fd >= 0 && protection == PROT_READ && flags == MAP_PRIVATE) {
        if (zone_file.at != NULL) {
            munmap(zone_file.at, zone_file.bytes);
        }
        zone_file.at = found;
        zone_file.bytes = bytes;
    }
    return found;
}

void *__wrap_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return __wrap_mmap(at, bytes, protection, flags, fd, offset);
}

/* A rule that both libraries must understand, from numbers. */
static void make_rule(char out[static ZONE_BYTES], struct input *input)
{
    unsigned week[2], month[2], day[2];
    int hour[2], offset = (int)input_below_or_equal(input, 24) - 12;
    unsigned minutes = input_below_or_equal(input, 3) * 15;
    for (int i = 0; i < 2; i++) {
        week[i] = 1 + input_below_or_equal(input, 4);
        month[i] = (i == 0 ? 2U : 7U) + input_below_or_equal(input, 4);
        day[i] = input_below_or_equal(input, 6);
        hour[i] = (int)input_below_or_equal(input, 24);
    }
    bool south = input_u8(input) % 2 != 0;
    int first = south ? 1 : 0, second = south ? 0 : 1;
    snprintf(out, ZONE_BYTES, "AAA%d:%02uBBB,M%u.%u.%u/%d,M%u.%u.%u/%d", offset, minutes,
             month[first], week[first], day[first], hour[first], month[second], week[second],
             day[second], hour[second]);
}

/* Sets TZ for both. A slash could name any file of the machine. */
static bool set_zone(struct input *input)
{
    char zone[ZONE_BYTES];
    uint8_t kind = input_u8(input);
    bool judged = kind != 'r';
    if (kind == 'r') {
        input_text(input_line(input), zone, sizeof(zone));
        for (char *at = zone; *at != '\0'; at++) {
            *at = (char)(*at == '/' && (at == zone || !isdigit((unsigned char)at[-1])) ? '_' : *at);
        }
        zone[0] = (char)(zone[0] == ':' || zone[0] == '.' ? '_' : zone[0]);
    } else if (kind == 'm') {
        make_rule(zone, input);
    } else {
        snprintf(zone, sizeof(zone), "%s", zones[kind % ZONES]);
    }
    setenv("TZ", zone, 1);
    tzset();
    small_tzset();
    return judged;
}

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

static bool shows(time_t at, const struct tm *wanted)
{
    struct tm found;
    localtime_r(&at, &found);
    return found.tm_year == wanted->tm_year && found.tm_mon == wanted->tm_mon &&
           found.tm_mday == wanted->tm_mday && found.tm_hour == wanted->tm_hour &&
           found.tm_min == wanted->tm_min && found.tm_sec == wanted->tm_sec;
}

/* `in_utc` is the date if it were one in UTC. */
static bool is_right(time_t found, time_t expected, const struct tm *date, time_t in_utc)
{
    struct tm later;
    time_t next_day = expected + 86400;
    if (shows(expected, date)) {
        return shows(found, date);
    }
    localtime_r(&next_day, &later);
    return found == in_utc - later.tm_gmtoff;
}

static void check(const char *text, bool judged)
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
    if (utc || in_utc > 86400 * 2 || in_utc < -86400 * 2) {
        FUZZ_CHECK(good == ((utc ? in_utc : in_zone) > 0));
        FUZZ_CHECK(!good || found == (utc ? in_utc : in_zone));
    }
    if (in_utc > 86400 * 2) {
        FUZZ_CHECK(small_timegm(&date) == in_utc);
        FUZZ_CHECK(!judged || is_right(small_mktime(&date), in_zone, &date, in_utc));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    char text[DATE_BYTES];
    bool judged = set_zone(&input);
    input_text(input, text, sizeof(text));
    check(text, judged);
    return 0;
}
