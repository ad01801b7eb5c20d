/*
 * For static/time.c: compared with libc's own: the zones of this system over a century and a half,
 * rules of POSIX, and every day in UTC. Then files that are damaged or of the first version, and
 * what only one answer is right for.
 */
#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "small_time.h"
#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Not a whole number of days: all hours have their turn. Fewer of them in slow programs. */
#define STEP_SECONDS      (3600 * 31 + 1747)
#define SLOW_STEP_SECONDS (86400 * 11 + 5443)

static void set_zone(const char *name)
{
    ck_assert_int_eq(name != NULL ? setenv("TZ", name, 1) : unsetenv("TZ"), 0);
    tzset();
    small_tzset();
}

/* Whether the clock shows just that at `seconds`. */
static bool shows(time_t seconds, const struct tm *wanted)
{
    struct tm found;
    ck_assert_ptr_nonnull(localtime_r(&seconds, &found));
    return found.tm_year == wanted->tm_year && found.tm_yday == wanted->tm_yday &&
           found.tm_hour == wanted->tm_hour && found.tm_min == wanted->tm_min &&
           found.tm_sec == wanted->tm_sec;
}

/* Goes over the times of `zone` with libc's clock; any that the clock shows may be asked for. */
static void compare(const char *zone)
{
    long step = unit_is_slow() ? SLOW_STEP_SECONDS : STEP_SECONDS;
    set_zone(zone);
    for (time_t now = 86400 * 2; now < (time_t)86400 * 366 * 150; now += step) {
        struct tm date;
        ck_assert_ptr_nonnull(localtime_r(&now, &date));
        time_t found = small_mktime(&date);
        if (found != now && !shows(found, &date)) {
            ck_abort_msg("%s: %lld, expected %lld", zone, (long long)found, (long long)now);
        }
        date.tm_isdst = -1;
        time_t expected = mktime(&date);
        if (found != expected && !shows(found, &date)) {
            ck_abort_msg("%s: %lld, libc %lld", zone, (long long)found, (long long)expected);
        }
    }
}

static const char *const zones[] = {
    ":/etc/localtime",     "/etc/localtime",    "Europe/Berlin",  "Europe/London",
    "Europe/Dublin",       "Europe/Istanbul",   "Europe/Moscow",  "America/New_York",
    "America/Sao_Paulo",   "America/Santiago",  "America/Nuuk",   "America/Caracas",
    "America/St_Johns",    "Africa/Casablanca", "Africa/Cairo",   "Africa/Abidjan",
    "Antarctica/Troll",    "Asia/Gaza",         "Asia/Jerusalem", "Asia/Kathmandu",
    "Asia/Kolkata",        "Asia/Tehran",       "Asia/Tokyo",     "Asia/Pyongyang",
    "Australia/Lord_Howe", "Australia/Sydney",  "Pacific/Apia",   "Pacific/Chatham",
    "Pacific/Kiritimati",  "Pacific/Norfolk",   "Etc/GMT+5",      "UTC",
};

START_TEST(zones_of_this_system)
{
    char path[128];
    const char *zone = zones[_i];
    snprintf(path, sizeof(path), "%s%s",
             zone[0] == '/' || zone[0] == ':' ? "" : "/usr/share/zoneinfo/",
             zone + (zone[0] == ':'));
    if (access(path, R_OK) == 0) {
        compare(zone);
    }
}
END_TEST

static const char *const rules[] = {
    "",
    "UTC0",
    "XXX-02:00",
    "XXX+3:30:15",
    "<+0545>-5:45",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
    "IST-2IDT,M3.4.4/26,M10.5.0",
    "IST-1GMT0,M10.5.0,M3.5.0/1",
    "AEST-10AEDT,M10.1.0,M4.1.0/3",
    "XXX4YYY2:30,J60/1:30,J300/0:10:20",
    "XXX4YYY,59/3,299",
    "XXX0YYY,M2.5.1,M12.4.6/23",
    "XXX0YYY,M2.1.3/00:30,J59",
};

START_TEST(rules_of_posix)
{
    compare(rules[_i]);
}
END_TEST

START_TEST(every_day_in_utc)
{
    long step = unit_is_slow() ? SLOW_STEP_SECONDS : 86399;
    set_zone("UTC0");
    for (time_t now = 0; now < (time_t)253402300800; now += step) {
        struct tm date;
        ck_assert_ptr_nonnull(gmtime_r(&now, &date));
        if (small_timegm(&date) != now || small_mktime(&date) != now) {
            ck_abort_msg("%lld: %lld", (long long)now, (long long)small_timegm(&date));
        }
    }
}
END_TEST

/* ---- one answer ------------------------------------------------------------------------------ */

static time_t at(int year, int month, int day, int hour, int minute)
{
    struct tm date = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
    date.tm_hour = hour;
    date.tm_min = minute;
    date.tm_isdst = -1;
    return small_mktime(&date);
}

START_TEST(twice_and_never)
{
    set_zone("CET-1CEST,M3.5.0,M10.5.0/3");
    ck_assert_int_eq(at(2030, 3, 31, 1, 59), 1901149140);
    ck_assert_int_eq(at(2030, 3, 31, 3, 0), 1901149200);
    ck_assert_int_eq(at(2030, 3, 31, 2, 30), 1901147400); /* half past one, really */
    ck_assert_int_eq(at(2030, 10, 27, 1, 59), 1919289540);
    ck_assert_int_eq(at(2030, 10, 27, 2, 30), 1919291400); /* the first of two */
    ck_assert_int_eq(at(2030, 10, 27, 3, 0), 1919296800);
}
END_TEST

START_TEST(rule_without_dates)
{
    set_zone("XXX5YYY");
    ck_assert_int_eq(at(2030, 3, 10, 1, 0), at(2030, 3, 10, 3, 0) - 3600);
    ck_assert_int_eq(at(2030, 7, 1, 0, 0), 1909094400 + 4 * 3600);
    ck_assert_int_eq(at(2030, 12, 1, 0, 0), 1922313600 + 5 * 3600);
}
END_TEST

/* ---- files ----------------------------------------------------------------------------------- */

/* What a file of the first version has of a zone: two hours east, three from 2001-09-09 01:46:40.
 */
static const uint8_t first[] = {
    'T',  'Z',  'i',  'f',  0, 0, 0, 0,    0,    0, 0, 0, 0, 0,    0,    0, 0, 0,   0,   0,   0, 0,
    0,    0,    0,    0,    0, 0, 0, 0,    0,    0, 0, 0, 0, 1,    0,    0, 0, 2,   0,   0,   0, 4,
    0x3b, 0x9a, 0xca, 0x00, 1, 0, 0, 0x1c, 0x20, 0, 0, 0, 0, 0x2a, 0x30, 1, 0, 'A', 'B', 'C', 0,
};

/* The offset that a file of these bytes has at noon of 2 January 1990, and of 2030. */
static void expect(const uint8_t *bytes, size_t count, long before, long later)
{
    char name[] = "/tmp/wrensshd-zone-XXXXXX";
    int fd = mkstemp(name);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, count), (ssize_t)count);
    close(fd);
    ck_assert_int_eq(setenv("TZ", name, 1), 0);
    small_tzset();
    unlink(name);
    ck_assert_int_eq(631281600 - at(1990, 1, 2, 12, 0), before);
    ck_assert_int_eq(1893585600 - at(2030, 1, 2, 12, 0), later);
}

START_TEST(first_version)
{
    expect(first, sizeof(first), 7200, 10800);
}
END_TEST

START_TEST(cut_anywhere)
{
    for (size_t count = 0; count < sizeof(first); count++) {
        expect(first, count, 0, 0);
    }
}
END_TEST

START_TEST(damaged)
{
    uint8_t bytes[sizeof(first)];
    memcpy(bytes, first, sizeof(bytes));
    bytes[3] = 'F';
    expect(bytes, sizeof(bytes), 0, 0);
    bytes[3] = 'f';
    bytes[39] = 0; /* no type */
    expect(bytes, sizeof(bytes), 0, 0);
    bytes[39] = 2;
    bytes[32] = 0xff; /* as many transitions as can be counted */
    expect(bytes, sizeof(bytes), 0, 0);
    bytes[32] = 0;
    bytes[48] = 255; /* a type that the file lacks: the first one replaces it */
    expect(bytes, sizeof(bytes), 7200, 7200);
}
END_TEST

/* The second part of a file counts, and its footer behind the last transition; without one, the
 * last type does. */
START_TEST(second_version)
{
    uint8_t bytes[400];
    static const char *const footers[] = {"\n\n", "\nABC-5\n", "\n<X>+1\n", "", "\nABC-5"};
    static const long later[] = {10800, 18000, -3600, 10800, 10800};
    for (size_t i = 0; i < COUNT(footers); i++) {
        size_t used = sizeof(first), block = used;
        memcpy(bytes, first, used);
        memcpy(bytes + used, first, 44);
        bytes[4] = bytes[block + 4] = '2';
        bytes[sizeof(first) - 18] = 1; /* what the first part says is another time */
        used += 44;
        memset(bytes + used, 0, 4);
        memcpy(bytes + used + 4, first + 44, sizeof(first) - 44);
        used += 4 + sizeof(first) - 44;
        memcpy(bytes + used, footers[i], strlen(footers[i]));
        expect(bytes, used + strlen(footers[i]), 7200, later[i]);
        expect(bytes, block + 40, 0, 0);
    }
}
END_TEST

/* A name that no file has, and one too long for any, are rules; and no TZ is the system's file. */
START_TEST(names_without_files)
{
    char name[6000];
    memset(name, 'a', sizeof(name));
    strcpy(name + sizeof(name) - 3, "-2");
    set_zone(name);
    ck_assert_int_eq(1893585600 - at(2030, 1, 2, 12, 0), 7200);
    set_zone("Nowhere/At_All");
    ck_assert_int_eq(at(2030, 1, 2, 12, 0), 1893585600);
    set_zone(":XXX-2");
    ck_assert_int_eq(at(2030, 1, 2, 12, 0), 1893585600);
    set_zone(":/etc/localtime");
    time_t system = at(2030, 7, 2, 12, 0);
    set_zone(NULL);
    ck_assert_int_eq(at(2030, 7, 2, 12, 0), system);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("static_time");
    TCase *compared = tcase_create("compared");
    tcase_set_timeout(compared, 60);
    tcase_add_loop_test(compared, zones_of_this_system, 0, COUNT(zones));
    tcase_add_loop_test(compared, rules_of_posix, 0, COUNT(rules));
    tcase_add_test(compared, every_day_in_utc);
    suite_add_tcase(suite, compared);
    TCase *one = tcase_create("one answer");
    tcase_add_test(one, twice_and_never);
    tcase_add_test(one, rule_without_dates);
    suite_add_tcase(suite, one);
    TCase *files = tcase_create("files");
    tcase_add_test(files, first_version);
    tcase_add_test(files, cut_anywhere);
    tcase_add_test(files, damaged);
    tcase_add_test(files, second_version);
    tcase_add_test(files, names_without_files);
    suite_add_tcase(suite, files);
    return suite;
}
