/*
 * tzset(), mktime() and timegm() of a static build, which replace libc's (the option small_time).
 * They do only what an expiry time in authorized_keys needs. libc's also normalize the struct tm,
 * have names of zones and conversions to local time, and allocate a copy of TZ.
 *
 * Time zones: RFC 8536 (TZif), version 1 to 4, and the POSIX rule of TZ and of the file's footer
 * (POSIX.1-2017, section 8.3), with the hours beyond 24 of RFC 8536 section 3.3.1. Leap seconds
 * don't count, as in POSIX.
 *
 * mktime() and timegm() take years from 1970 on and fields within their ranges. They ignore
 * tm_isdst and do not change the struct tm. Of a local time that exists twice, the first counts;
 * one that the clock skips is taken as after the change. The caller of mktime() must call tzset()
 * first.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Hidden, so that a shared libc and its plugins keep using their own. */
#define OWN __attribute__((visibility("hidden")))
OWN void tzset(void);
OWN time_t mktime(struct tm *time);
OWN time_t timegm(struct tm *time);

#define ZONES "/usr/share/zoneinfo/"

#define HEADER_BYTES 44
#define TYPE_BYTES   6
#define DAY_SECONDS  86400

/* The counts in a header, in this order from byte 20 on. */
enum { UT_MARKS, STANDARD_MARKS, LEAPS, TRANSITIONS, TYPES, NAMES };

/* The present time zone; all zeros are UTC. */
static struct {
    const uint8_t *times; /* of the transitions, `time_bytes` each */
    const uint8_t *kinds; /* the number of the type after each transition */
    const uint8_t *types; /* each an offset, whether it is summer time, a name */
    uint32_t transitions;
    uint32_t types_count;
    uint32_t time_bytes;
    const char *rule; /* for times after them; ends with a newline or a NUL */
} zone;

/* ---- days ------------------------------------------------------------------------------------ */

/* The days since 1970, modulo 2^32. The calculation begins years in March, so that a leap day is
 * the year's last day, and adds 400 years, so that no division is of a negative number. `day` may
 * be outside of the month, and `month` may be 13. */
static uint32_t days_at(uint32_t year, uint32_t month, uint32_t day)
{
    year += 400;
    if (month <= 2) {
        year--;
        month += 12;
    }
    return 365 * year + year / 4 - year / 100 + year / 400 + (153 * month - 457) / 5 + day -
           (719469 + 146097);
}

/* ---- a rule ---------------------------------------------------------------------------------- */

/* Each function reads its part of the text and never reads beyond the text's end. */

static bool take(const char **text, char letter)
{
    bool found = **text == letter;
    *text += found;
    return found;
}

static uint32_t take_number(const char **text)
{
    uint32_t value = 0;
    while (**text >= '0' && **text <= '9') {
        value = value * 10 + (uint32_t)(*(*text)++ - '0');
    }
    return value < 100000 ? value : 0;
}

/* [+-]hh[:mm[:ss]] */
static int32_t take_seconds(const char **text)
{
    bool negative = take(text, '-');
    take(text, '+');
    uint32_t seconds = take_number(text) * 3600;
    if (take(text, ':')) {
        seconds += take_number(text) * 60;
    }
    if (take(text, ':')) {
        seconds += take_number(text);
    }
    return (int32_t)(negative ? 0 - seconds : seconds);
}

static bool take_name(const char **text)
{
    const char *first = *text;
    *text += strcspn(first, *first == '<' ? ">\n" : "+-,0123456789\n");
    take(text, '>');
    return *text != first;
}

/* Mm.w.d, Jn or n */
static uint32_t take_day(const char **text, uint32_t year)
{
    if (take(text, 'J')) { /* from 1 on, without leap days */
        uint32_t number = take_number(text);
        return number < 60 ? days_at(year, 1, number) : days_at(year, 3, number - 59);
    }
    if (!take(text, 'M')) {
        return days_at(year, 1, 1 + take_number(text));
    }
    uint32_t month = take_number(text);
    take(text, '.');
    uint32_t week = take_number(text);
    take(text, '.');
    uint32_t weekday = take_number(text);
    uint32_t first = days_at(year, month, 1);
    /* Day 0 was a Thursday. The fifth week is the last one. */
    uint32_t day = first + (weekday + 7 - (first + 4) % 7) % 7 + (week - 1) * 7;
    return day < days_at(year, month + 1, 1) ? day : day - 7;
}

/* The local time of a change, by the clock before the change. */
static int64_t take_change(const char **text, uint32_t year)
{
    take(text, ',');
    int64_t midnight = (int64_t)take_day(text, year) * DAY_SECONDS;
    return midnight + (take(text, '/') ? take_seconds(text) : 2 * 3600);
}

/* Seconds east of Greenwich at `local` seconds since 1970 by the clock there. */
static int32_t offset_by_rule(const char *text, int64_t local, uint32_t year)
{
    take_name(&text);
    int32_t standard = -take_seconds(&text);
    if (!take_name(&text)) {
        return standard;
    }
    bool same = *text == ',' || *text == '\n' || *text == '\0';
    int32_t summer = same ? standard + 3600 : -take_seconds(&text);
    if (*text != ',') {
        text = "M3.2.0,M11.1.0"; /* the default of other libraries */
    }
    int64_t start = take_change(&text, year);
    int64_t end = take_change(&text, year);
    bool is_summer = start < end ? local >= start && local < end : local < end || local >= start;
    return is_summer ? summer : standard;
}

/* ---- a file ---------------------------------------------------------------------------------- */

static uint32_t number_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint32_t count_of(const uint8_t *header, unsigned what)
{
    return number_at(header + 20 + 4 * what);
}

/* The bytes of a header and the data that it counts; more than `bytes` if it is not a header. */
static uint64_t block_bytes(const uint8_t *header, uint64_t bytes, uint32_t time_bytes)
{
    if (bytes < HEADER_BYTES || memcmp(header, "TZif", 4) != 0 || count_of(header, TYPES) == 0) {
        return UINT64_MAX;
    }
    return HEADER_BYTES + (uint64_t)count_of(header, TRANSITIONS) * (time_bytes + 1) +
           (uint64_t)count_of(header, TYPES) * TYPE_BYTES + count_of(header, NAMES) +
           (uint64_t)count_of(header, LEAPS) * (time_bytes + 4) + count_of(header, STANDARD_MARKS) +
           count_of(header, UT_MARKS);
}

/* From version 2 on the file has a second block with 64-bit times, and then a rule. */
static void read_block(const uint8_t *file, uint64_t bytes, uint32_t time_bytes)
{
    uint64_t block = block_bytes(file, bytes, time_bytes);
    if (block > bytes) {
        return;
    }
    if (time_bytes == 4 && file[4] >= '2') {
        read_block(file + block, bytes - block, 8);
        return;
    }
    zone.time_bytes = time_bytes;
    zone.transitions = count_of(file, TRANSITIONS);
    zone.types_count = count_of(file, TYPES);
    zone.times = file + HEADER_BYTES;
    zone.kinds = zone.times + (size_t)zone.transitions * time_bytes;
    zone.types = zone.kinds + zone.transitions;
    if (bytes - block > 2 && file[block] == '\n' && file[bytes - 1] == '\n' &&
        file[block + 1] != '\n') {
        zone.rule = (const char *)file + block + 1;
    }
}

/* Maps the file, which stays mapped. */
static bool read_file(const char *path)
{
    struct stat found;
    void *file = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    if (fstat(fd, &found) == 0 && found.st_size > 0 && found.st_size <= INT_MAX) {
        file = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    close(fd);
    if (file != MAP_FAILED) {
        read_block(file, (uint64_t)found.st_size, 4);
    }
    return zone.types != NULL;
}

static int32_t offset_of(uint32_t type)
{
    return (int32_t)number_at(zone.types + TYPE_BYTES * (type < zone.types_count ? type : 0));
}

static int64_t transition_at(uint32_t number)
{
    const uint8_t *bytes = zone.times + (size_t)number * zone.time_bytes;
    int64_t high = (int32_t)number_at(bytes);
    return zone.time_bytes == 4 ? high : (int64_t)((uint64_t)high << 32 | number_at(bytes + 4));
}

/* As offset_by_rule(). */
static int32_t offset_at(int64_t local, uint32_t year)
{
    int32_t offset = zone.types != NULL ? offset_of(0) : 0;
    for (uint32_t i = 0; i < zone.transitions; i++) {
        if (local - offset < transition_at(i)) {
            return offset;
        }
        offset = offset_of(zone.kinds[i]);
    }
    return zone.rule != NULL ? offset_by_rule(zone.rule, local, year) : offset;
}

/* ---- libc's functions ------------------------------------------------------------------------ */

void tzset(void)
{
    char path[PATH_MAX];
    const char *name = getenv("TZ");
    memset(&zone, 0, sizeof(zone));
    if (name == NULL) {
        name = "/etc/localtime";
    }
    bool is_rule = name[0] != ':' && name[0] != '/';
    name += name[0] == ':';
    snprintf(path, sizeof(path), "%s%s", name[0] == '/' ? "" : ZONES, name);
    if (!read_file(path) && is_rule) {
        zone.rule = name;
    }
}

time_t timegm(struct tm *time)
{
    uint32_t year = (uint32_t)time->tm_year + 1900;
    uint32_t days = days_at(year, (uint32_t)time->tm_mon + 1, (uint32_t)time->tm_mday);
    return (time_t)(int32_t)days * DAY_SECONDS + time->tm_hour * 3600 + time->tm_min * 60 +
           time->tm_sec;
}

time_t mktime(struct tm *time)
{
    time_t local = timegm(time);
    return local - offset_at(local, (uint32_t)time->tm_year + 1900);
}
