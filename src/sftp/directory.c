/*
 * Directories (draft-ietf-secsh-filexfer-02 section 6.7): names with their attributes, as many as
 * one answer takes.
 */
#include <fcntl.h>

#include "process.h"
#include "sftp.h"

#define HALF_YEAR_SECONDS (86400 * 365 / 2)

static time_t now;

static void set_now(void)
{
    struct timespec clock;
    now = clock_gettime(CLOCK_REALTIME, &clock) == 0 ? clock.tv_sec : 0;
}

void listing_begin(void)
{
    tzset();
    set_now();
}

/* ---- the columns of a line ------------------------------------------------------------------- */

/* Appends a text, then blanks up to the width; with a negative width, blanks before it. */
static char *pad_text(char *at, const char *text, int width)
{
    int bytes = (int)strlen(text);
    for (int i = bytes; i < -width; i++) {
        *at++ = ' ';
    }
    memcpy(at, text, (size_t)bytes);
    at += bytes;
    for (int i = bytes; i < width; i++) {
        *at++ = ' ';
    }
    return at;
}

static char *pad_number(char *at, uint64_t number, int width)
{
    char digits[24];
    char *start = digits + sizeof(digits) - 1;
    *start = '\0';
    do {
        *--start = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return pad_text(at, start, -width);
}

static char *put_two_digits(char *at, unsigned number)
{
    *at++ = (char)('0' + number / 10);
    *at++ = (char)('0' + number % 10);
    return at;
}

static char *put_mode(char *at, mode_t mode)
{
    static const char kinds[] = "?pc?d?b?-?l?s???";
    at[0] = kinds[mode >> 12 & 15];
    memcpy(at + 1, "rwxrwxrwx", 9);
    for (int i = 0; i < 9; i++) {
        if ((mode >> (8 - i) & 1) == 0) {
            at[1 + i] = '-';
        }
    }
    if ((mode & S_ISUID) != 0) {
        at[3] = (mode & S_IXUSR) != 0 ? 's' : 'S';
    }
    if ((mode & S_ISGID) != 0) {
        at[6] = (mode & S_IXGRP) != 0 ? 's' : 'S';
    }
    if ((mode & S_ISVTX) != 0) {
        at[9] = (mode & S_IXOTH) != 0 ? 't' : 'T';
    }
    at[10] = ' ';
    return at + 11;
}

/* "Nov 22 10:15", or "Nov 22  2025" for a file older than half a year or of the future. Times
 * before 1970, which the protocol does not have, count as 1970. */
static char *put_date(char *at, int64_t when)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm date = {.tm_mday = 1};
    const time_t known = (time_t)(when < 0 ? 0 : when <= UINT32_MAX ? when : UINT32_MAX);
    localtime_r(&known, &date);
    memcpy(at, months + 3 * (size_t)date.tm_mon, 3);
    at = pad_number(at + 3, (uint64_t)date.tm_mday, 3);
    *at++ = ' ';
    if (now < known || now - known >= HALF_YEAR_SECONDS) {
        return pad_number(at, (uint64_t)date.tm_year + 1900, 5);
    }
    at = put_two_digits(at, (unsigned)date.tm_hour);
    *at++ = ':';
    return put_two_digits(at, (unsigned)date.tm_min);
}

/* Mode, links, owner, group, size, date, name. */
size_t listing_write(char line[static LISTING_BYTES], const char *name, const struct stat *status)
{
    char owner[OWNER_NAME_BYTES], group[OWNER_NAME_BYTES];
    owners_user(owner, status->st_uid, false);
    owners_group(group, status->st_gid, false);
    char *at = put_mode(line, status->st_mode);
    at = pad_number(at, status->st_nlink, 4);
    *at++ = ' ';
    at = pad_text(at, owner, 8);
    *at++ = ' ';
    at = pad_text(at, group, 8);
    *at++ = ' ';
    at = pad_number(at, (uint64_t)status->st_size, 8);
    *at++ = ' ';
    at = put_date(at, status->st_mtime);
    *at++ = ' ';
    size_t used = (size_t)(at - line);
    size_t bytes = strnlen(name, LISTING_BYTES - used);
    memcpy(at, name, bytes);
    return used + bytes;
}

/* ---- requests -------------------------------------------------------------------------------- */

enum sftp_status on_opendir(struct sftp *sftp)
{
    char path[PATH_BYTES];
    return sftp_read_path(sftp, path) ? handle_open(sftp, path, O_RDONLY | O_DIRECTORY, 0)
                                      : SFTP_BAD_MESSAGE;
}

/* Adds a name, unless its file was removed meanwhile. The parent of a jail's root is the root
 * itself, as of any root. */
static bool add_name(struct sftp *sftp, int directory, const char *name)
{
    struct stat status;
    char line[LISTING_BYTES];
    bool is_above = strcmp(name, "..") == 0 && paths_is_root(&sftp->paths, directory);
    if (paths_stat_name(&sftp->paths, &status, directory, is_above ? "." : name) != 0) {
        return false;
    }
    writer_text(&sftp->answers, name);
    writer_string(&sftp->answers, line, listing_write(line, name, &status));
    attributes_write(&sftp->answers, &status);
    return true;
}

/* The shortest entry has 24 bytes and a name of up to 4. In the answer that is two strings and the
 * attributes, and each further byte of the name counts twice. */
#define ANSWER_BYTES_PER_ENTRY_BYTE 8
_Static_assert(4 + 4 + 4 + LISTING_COLUMNS_BYTES + 4 + 32 <= 24 * ANSWER_BYTES_PER_ENTRY_BYTE &&
                   LIMIT_SFTP_ENTRIES_BYTES >=
                       LIMIT_SFTP_ANSWER_BYTES / ANSWER_BYTES_PER_ENTRY_BYTE,
               "what one system call reads fits into the answer and into the buffer");

/* FUSE asks its file system for a page of entries at least, and drops those that do not fit. */
#define LEAST_ENTRIES_BYTES 4096

/* Adds the entries, and returns how many names were added. */
static uint32_t add_names(struct sftp *sftp, int directory, size_t bytes)
{
    uint32_t count = 0;
    for (size_t at = 0; at < bytes;) {
        const struct dirs_entry *entry =
            (const struct dirs_entry *)(const void *)(sftp->entries + at);
        count += add_name(sftp, directory, entry->name);
        at += entry->bytes;
    }
    return count;
}

/* Reads no more entries than fit into the answer. A file system such as ramfs counts entries: to
 * seek back to those that did not fit could skip names if files are removed meanwhile. */
enum sftp_status on_readdir(struct sftp *sftp)
{
    struct handle *handle = handle_read(sftp);
    if (handle == NULL || !handle->is_directory) {
        return SFTP_FAILURE;
    }
    set_now();
    size_t start = sftp->answers.used;
    size_t end = start + LIMIT_SFTP_ANSWER_BYTES;
    size_t mark = answer_begin(sftp, SFTP_NAME);
    uint8_t *place = sftp->answers.bytes + sftp->answers.used;
    uint32_t count = 0;
    size_t most;
    long got = 1;
    writer_u32(&sftp->answers, 0);
    while (got > 0 && (most = (end - sftp->answers.used) / ANSWER_BYTES_PER_ENTRY_BYTE) >=
                          LEAST_ENTRIES_BYTES) {
        got = syscall(SYS_getdents64, handle->fd, sftp->entries, most);
        count += got > 0 ? add_names(sftp, handle->fd, (size_t)got) : 0;
    }
    if (count == 0) {
        sftp->answers.used = start;
        return got == 0 ? SFTP_EOF : answer_status_of(errno);
    }
    big_endian_write(place, count);
    return answer_end(sftp, mark);
}
