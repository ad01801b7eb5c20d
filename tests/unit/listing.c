/* sftp/directory.c: the line of `ls -l`, beside strftime(3). */
#include "sftp.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"

#define HALF_YEAR_SECONDS (365 * 24 * 60 * 60 / 2)

static const char *line_of(const char *name, const struct stat *status)
{
    static char line[LISTING_BYTES + 1];
    size_t bytes = listing_write(line, name, status);
    ck_assert_uint_le(bytes, LISTING_BYTES);
    line[bytes] = '\0';
    return line;
}

static void expect_line(char out[static 512], const char *mode, const char *owners,
                        const struct stat *status, const char *name)
{
    char when[64];
    time_t now = time(NULL);
    bool is_recent = status->st_mtime <= now && now - status->st_mtime < HALF_YEAR_SECONDS;
    strftime(when, sizeof(when), is_recent ? "%b %e %H:%M" : "%b %e  %Y",
             localtime(&status->st_mtime));
    snprintf(out, 512, "%s %4u %s %8llu %s %s", mode, (unsigned)status->st_nlink, owners,
             (unsigned long long)status->st_size, when, name);
}

static const struct {
    mode_t mode;
    const char *shown;
} modes[] = {
    {S_IFREG | 0644, "-rw-r--r--"},  {S_IFDIR | 0755, "drwxr-xr-x"},
    {S_IFLNK | 0777, "lrwxrwxrwx"},  {S_IFIFO | 0600, "prw-------"},
    {S_IFSOCK | 0, "s---------"},    {S_IFCHR | 0620, "crw--w----"},
    {S_IFBLK | 0660, "brw-rw----"},  {S_IFREG | 04755, "-rwsr-xr-x"},
    {S_IFREG | 06644, "-rwSr-Sr--"}, {S_IFDIR | 01777, "drwxrwxrwt"},
    {S_IFDIR | 01666, "drw-rw-rwT"}, {0, "?---------"},
};

UNIT_TIMEOUT(60);

TEST_EACH(columns, COUNT_OF(modes))
{
    char expected[512];
    owners_open();
    listing_begin();
    struct stat status = {
        .st_mode = modes[_i].mode, .st_nlink = 2, .st_size = 123, .st_mtime = 86399};
    expect_line(expected, modes[_i].shown, "root     root    ", &status, "a file");
    ck_assert_str_eq(line_of("a file", &status), expected);
}

TEST(numbers_without_a_name)
{
    owners_open();
    listing_begin();
    struct stat status = {.st_mode = S_IFREG,
                          .st_uid = 4000000000U,
                          .st_gid = 3999999999U,
                          .st_nlink = 100000,
                          .st_size = INT64_MAX};
    const char *line = line_of("x", &status);
    ck_assert_msg(
        strncmp(line, "---------- 100000 4000000000 3999999999 9223372036854775807 ", 60) == 0,
        "%s", line);
}

/* In the place of the C library's: counts how often a file of names is read from its start. */
static unsigned scans;

off_t lseek(int fd, off_t offset, int whence)
{
    scans++;
    return syscall(SYS_lseek, fd, (long)offset, whence);
}

/* However alike the numbers are, and whatever the order, a file of names is read once for each. */
TEST(each_owner_is_looked_up_once)
{
    owners_open();
    listing_begin();
    scans = 0;
    for (unsigned i = 0; i < 400; i++) {
        struct stat status = {
            .st_mode = S_IFREG, .st_uid = 24000 + i % 40 * 4096, .st_gid = 24000 + i % 2 * 16};
        line_of("f", &status);
    }
    ck_assert_uint_eq(scans, 42);
}

static const char *const zones[] = {"UTC", "UTC-5:45", "UTC+11", "EST5EDT,M3.2.0,M11.1.0",
                                    "AEST-10AEDT,M10.1.0,M4.1.0/3"};

TEST_EACH(dates_are_local, COUNT_OF(zones))
{
    char expected[512];
    setenv("TZ", zones[_i], 1);
    owners_open();
    listing_begin();
    time_t now = time(NULL);
    for (uint64_t i = 0; i < 4000; i++) {
        /* Steps of some two weeks over all times that the protocol has, and of hours before now. */
        time_t when = (time_t)(i < 3000 ? (i * 1431655 + 86400) % UINT32_MAX
                                        : (uint64_t)now - (i - 3000) * 17777);
        struct stat status = {.st_mode = S_IFREG | 0644, .st_nlink = 1, .st_mtime = when};
        if (labs((long)(now - when - HALF_YEAR_SECONDS)) < 5) {
            continue;
        }
        expect_line(expected, "-rw-r--r--", "root     root    ", &status, "f");
        ck_assert_str_eq(line_of("f", &status), expected);
    }
}

/* In a zone whose clocks changed some thirty days ago: each half hour of the days around it. */
TEST(change_of_the_clocks)
{
    char expected[512], zone[64];
    time_t now = time(NULL);
    int day = gmtime(&now)->tm_yday;
    snprintf(zone, sizeof(zone), "EST5EDT,%d,%d", (day + 335) % 365, (day + 185) % 365);
    setenv("TZ", zone, 1);
    owners_open();
    listing_begin();
    long first = localtime(&(time_t){now - 33 * 86400})->tm_gmtoff;
    ck_assert_int_ne(localtime(&(time_t){now - 27 * 86400})->tm_gmtoff, first);
    for (time_t when = now - 33 * 86400; when < now - 27 * 86400; when += 1800) {
        struct stat status = {.st_mode = S_IFREG | 0644, .st_nlink = 1, .st_mtime = when};
        expect_line(expected, "-rw-r--r--", "root     root    ", &status, "f");
        ck_assert_str_eq(line_of("f", &status), expected);
    }
}

TEST(times_beyond_the_protocol)
{
    setenv("TZ", "UTC", 1);
    listing_begin();
    struct stat status = {.st_mode = S_IFREG, .st_mtime = -1};
    ck_assert_ptr_nonnull(strstr(line_of("f", &status), " Jan  1  1970 f"));
    status.st_mtime = INT64_MAX;
    ck_assert_ptr_nonnull(strstr(line_of("f", &status), " Feb  7  2106 f"));
}
