/*
 * The table of requests: who answers each, and which of them -R, -p and -P refuse.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sftp.h"

/* -R refuses requests that change something. OPEN looks at its own flags. */
#define CHANGES true
#define READS   false

/* Names without pointers, here and in other tables: a pointer would be relocated at the start. */
struct row {
    uint8_t type;
    bool changes;
    char name[sizeof("users-groups-by-id")]; /* for -p, -P and -Q */
    char version[2];                         /* of an extension, as VERSION lists it; else "" */
    sftp_handler *answer;
};

static const struct row requests[] = {
    {SFTP_OPEN, READS, "open", "", on_open},
    {SFTP_CLOSE, READS, "close", "", on_close},
    {SFTP_READ, READS, "read", "", on_read},
    {SFTP_WRITE, CHANGES, "write", "", on_write},
    {SFTP_LSTAT, READS, "lstat", "", on_lstat},
    {SFTP_FSTAT, READS, "fstat", "", on_fstat},
    {SFTP_SETSTAT, CHANGES, "setstat", "", on_setstat},
    {SFTP_FSETSTAT, CHANGES, "fsetstat", "", on_fsetstat},
    {SFTP_OPENDIR, READS, "opendir", "", on_opendir},
    {SFTP_READDIR, READS, "readdir", "", on_readdir},
    {SFTP_REMOVE, CHANGES, "remove", "", on_remove},
    {SFTP_MKDIR, CHANGES, "mkdir", "", on_mkdir},
    {SFTP_RMDIR, CHANGES, "rmdir", "", on_rmdir},
    {SFTP_REALPATH, READS, "realpath", "", on_realpath},
    {SFTP_STAT, READS, "stat", "", on_stat},
    {SFTP_RENAME, CHANGES, "rename", "", on_rename},
    {SFTP_READLINK, READS, "readlink", "", on_readlink},
    {SFTP_SYMLINK, CHANGES, "symlink", "", on_symlink},
    {SFTP_EXTENDED, CHANGES, "posix-rename", "1", on_posix_rename},
    {SFTP_EXTENDED, READS, "statvfs", "2", on_statvfs},
    {SFTP_EXTENDED, READS, "fstatvfs", "2", on_fstatvfs},
    {SFTP_EXTENDED, CHANGES, "hardlink", "1", on_hardlink},
    {SFTP_EXTENDED, CHANGES, "fsync", "1", on_fsync},
    {SFTP_EXTENDED, CHANGES, "lsetstat", "1", on_lsetstat},
    {SFTP_EXTENDED, READS, "limits", "1", on_limits},
    {SFTP_EXTENDED, READS, "expand-path", "1", on_expand_path},
    {SFTP_EXTENDED, CHANGES, "copy-data", "1", on_copy_data},
    {SFTP_EXTENDED, READS, "home-directory", "1", on_home_directory},
    {SFTP_EXTENDED, READS, "users-groups-by-id", "1", on_users_groups},
};

#define REQUESTS (sizeof(requests) / sizeof(requests[0]))

_Static_assert(REQUESTS <= 32, "each request has a bit");

/* copy-data and home-directory have no domain. */
static const char *domain_of(const struct row *row)
{
    bool has_none = row->answer == on_copy_data || row->answer == on_home_directory;
    return has_none ? "" : "@openssh.com";
}

static bool is_allowed(const struct sftp *sftp, const struct row *row)
{
    return (sftp->allowed >> (row - requests) & 1) != 0 && !(row->changes && sftp->read_only);
}

static const struct row *find(struct sftp *sftp, uint8_t type)
{
    struct reader sent = {0};
    if (type == SFTP_EXTENDED) {
        sent = reader_string(&sftp->message);
    }
    for (const struct row *row = requests; row < requests + REQUESTS; row++) {
        struct reader name = sent;
        if (row->type == type && (row->version[0] == '\0' || (reader_take(&name, row->name) &&
                                                              reader_is(&name, domain_of(row))))) {
            return row;
        }
    }
    return NULL;
}

bool sftp_requests_named(uint32_t *bits, const char *names)
{
    struct reader list = reader_over(names, strlen(names));
    struct reader name;
    bool known = list.left > 0;
    while (known && reader_name(&list, &name)) {
        known = false;
        for (size_t i = 0; i < REQUESTS; i++) {
            bool is_it = reader_is(&name, requests[i].name);
            *bits |= is_it ? 1U << i : 0;
            known = known || is_it;
        }
    }
    return known && !list.failed;
}

void sftp_requests_print(void)
{
    for (size_t i = 0; i < REQUESTS; i++) {
        dprintf(STDOUT_FILENO, "%s\n", requests[i].name);
    }
}

/* ---- INIT ------------------------------------------------------------------------------------ */

/* Lists the extensions that the client may use. */
static void answer_init(struct sftp *sftp)
{
    sftp->started = true;
    size_t mark = writer_string_begin(&sftp->answers);
    writer_u8(&sftp->answers, SFTP_VERSION_REPLY);
    writer_u32(&sftp->answers, SFTP_VERSION);
    for (const struct row *row = requests; row < requests + REQUESTS; row++) {
        if (row->version[0] != '\0' && is_allowed(sftp, row)) {
            size_t name = writer_string_begin(&sftp->answers);
            writer_bytes(&sftp->answers, row->name, strlen(row->name));
            writer_bytes(&sftp->answers, domain_of(row), strlen(domain_of(row)));
            writer_string_end(&sftp->answers, name);
            writer_text(&sftp->answers, row->version);
        }
    }
    writer_string_end(&sftp->answers, mark);
}

/* ---- every other request --------------------------------------------------------------------- */

void sftp_request(struct sftp *sftp, const uint8_t *packet, size_t bytes)
{
    sftp->message = reader_over(packet, bytes);
    uint8_t type = reader_u8(&sftp->message);
    sftp->id = reader_u32(&sftp->message); /* of INIT the client's version: every one has ours */
    if (sftp->message.failed) {
        sftp_end(sftp, "request is cut off");
        return;
    }
    if ((type == SFTP_INIT) == sftp->started) {
        sftp_end(sftp, sftp->started ? "second INIT" : "first request is not INIT");
        return;
    }
    if (type == SFTP_INIT) {
        answer_init(sftp);
        return;
    }
    const struct row *row = find(sftp, type);
    if (row == NULL) {
        answer_status(sftp, SFTP_UNSUPPORTED);
    } else if (!is_allowed(sftp, row)) {
        answer_status(sftp, SFTP_PERMISSION_DENIED);
    } else {
        row->answer(sftp);
    }
}
