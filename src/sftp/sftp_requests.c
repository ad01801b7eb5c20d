/*
 * The table of requests: who answers each, and which of them -R, -p and -P refuse.
 */
#include <fcntl.h>
#include <stdio.h>

#include "sftp.h"

/* -R refuses requests that change something. OPEN looks at its own flags. */
#define CHANGES true
#define READS   false

/* The version of an extension, as VERSION lists it; the others have none. */
#define DRAFT 0

/* The rows: type, whether it changes something, name for -p, -P and -Q, version, whether the
 * extension's name ends with @openssh.com, handler, and the flag of the *at() calls that answer it.
 */
#define REQUESTS_KNOWN(ROW)                                                                        \
    ROW(SFTP_OPEN, READS, "open", DRAFT, false, on_open, 0)                                        \
    ROW(SFTP_CLOSE, READS, "close", DRAFT, false, on_close, 0)                                     \
    ROW(SFTP_READ, READS, "read", DRAFT, false, on_read, 0)                                        \
    ROW(SFTP_WRITE, CHANGES, "write", DRAFT, false, on_write, 0)                                   \
    ROW(SFTP_LSTAT, READS, "lstat", DRAFT, false, on_stat, AT_SYMLINK_NOFOLLOW)                    \
    ROW(SFTP_FSTAT, READS, "fstat", DRAFT, false, on_fstat, 0)                                     \
    ROW(SFTP_SETSTAT, CHANGES, "setstat", DRAFT, false, on_setstat, 0)                             \
    ROW(SFTP_FSETSTAT, CHANGES, "fsetstat", DRAFT, false, on_fsetstat, 0)                          \
    ROW(SFTP_OPENDIR, READS, "opendir", DRAFT, false, on_opendir, 0)                               \
    ROW(SFTP_READDIR, READS, "readdir", DRAFT, false, on_readdir, 0)                               \
    ROW(SFTP_REMOVE, CHANGES, "remove", DRAFT, false, on_remove, 0)                                \
    ROW(SFTP_MKDIR, CHANGES, "mkdir", DRAFT, false, on_mkdir, 0)                                   \
    ROW(SFTP_RMDIR, CHANGES, "rmdir", DRAFT, false, on_remove, AT_REMOVEDIR)                       \
    ROW(SFTP_REALPATH, READS, "realpath", DRAFT, false, on_realpath, 0)                            \
    ROW(SFTP_STAT, READS, "stat", DRAFT, false, on_stat, 0)                                        \
    ROW(SFTP_RENAME, CHANGES, "rename", DRAFT, false, on_rename, 0)                                \
    ROW(SFTP_READLINK, READS, "readlink", DRAFT, false, on_readlink, 0)                            \
    ROW(SFTP_SYMLINK, CHANGES, "symlink", DRAFT, false, on_symlink, 0)                             \
    ROW(SFTP_EXTENDED, CHANGES, "posix-rename", 1, true, on_posix_rename, 0)                       \
    ROW(SFTP_EXTENDED, READS, "statvfs", 2, true, on_statvfs, 0)                                   \
    ROW(SFTP_EXTENDED, READS, "fstatvfs", 2, true, on_fstatvfs, 0)                                 \
    ROW(SFTP_EXTENDED, CHANGES, "hardlink", 1, true, on_hardlink, 0)                               \
    ROW(SFTP_EXTENDED, CHANGES, "fsync", 1, true, on_fsync, 0)                                     \
    ROW(SFTP_EXTENDED, CHANGES, "lsetstat", 1, true, on_setstat, AT_SYMLINK_NOFOLLOW)              \
    ROW(SFTP_EXTENDED, READS, "limits", 1, true, on_limits, 0)                                     \
    ROW(SFTP_EXTENDED, READS, "expand-path", 1, true, on_expand_path, 0)                           \
    ROW(SFTP_EXTENDED, CHANGES, "copy-data", 1, false, on_copy_data, 0)                            \
    ROW(SFTP_EXTENDED, READS, "home-directory", 1, false, on_home_directory, 0)                    \
    ROW(SFTP_EXTENDED, READS, "users-groups-by-id", 1, true, on_users_groups, 0)

struct request {
    uint8_t type;
    bool changes : 1;
    bool has_domain : 1;
    uint8_t version : 2;
    uint16_t flag;
    sftp_handler *answer;
};

#define REQUEST_ROW(type, changes, name, version, has_domain, answer, flag)                        \
    {type, changes, has_domain, version, flag, answer},
#define REQUEST_NAME(type, changes, name, version, has_domain, answer, flag) name "\0"

static const struct request requests[] = {REQUESTS_KNOWN(REQUEST_ROW)};

/* Trick: no pointers. */
static const char request_names[] = REQUESTS_KNOWN(REQUEST_NAME);

#define REQUESTS (sizeof(requests) / sizeof(requests[0]))

_Static_assert(REQUESTS <= 32, "each request has a bit");

static const char *name_of(const struct request *request)
{
    return texts_at(request_names, INDEX_IN(requests, request));
}

static const char *domain_of(const struct request *request)
{
    return request->has_domain ? "@openssh.com" : "";
}

static bool is_allowed(const struct sftp *sftp, const struct request *request)
{
    return (sftp->allowed >> (request - requests) & 1) != 0 &&
           !(request->changes && sftp->read_only);
}

static const struct request *find_request(struct sftp *sftp, uint8_t type)
{
    struct reader sent = {0};
    if (type == SFTP_EXTENDED) {
        sent = reader_string(&sftp->message);
    }
    for (const struct request *request = requests; request < requests + REQUESTS; request++) {
        struct reader name = sent;
        if (request->type == type &&
            (request->version == DRAFT ||
             (reader_take(&name, name_of(request)) && reader_is(&name, domain_of(request))))) {
            return request;
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
            bool is_it = reader_is(&name, texts_at(request_names, i));
            *bits |= is_it ? 1U << i : 0;
            known = known || is_it;
        }
    }
    return known && !list.failed;
}

void sftp_requests_print(void)
{
    for (size_t i = 0; i < REQUESTS; i++) {
        dprintf(STDOUT_FILENO, "%s\n", texts_at(request_names, i));
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
    for (const struct request *request = requests; request < requests + REQUESTS; request++) {
        sftp->may_write =
            sftp->may_write || (request->type == SFTP_WRITE && is_allowed(sftp, request));
        if (request->version != DRAFT && is_allowed(sftp, request)) {
            const char version[] = {(char)('0' + request->version), '\0'};
            size_t name = writer_string_begin(&sftp->answers);
            writer_bytes(&sftp->answers, name_of(request), strlen(name_of(request)));
            writer_bytes(&sftp->answers, domain_of(request), strlen(domain_of(request)));
            writer_string_end(&sftp->answers, name);
            writer_text(&sftp->answers, version);
        }
    }
    writer_string_end(&sftp->answers, mark);
}

/* ---- every other request --------------------------------------------------------------------- */

void sftp_request(struct sftp *sftp, const uint8_t *packet, size_t bytes)
{
    sftp->message = reader_over(packet, bytes);
    uint8_t type = reader_u8(&sftp->message);
    sftp->id = reader_u32(&sftp->message); /* INIT has its version here; we answer with ours */
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
    const struct request *request = find_request(sftp, type);
    enum sftp_status status = SFTP_UNSUPPORTED;
    if (request != NULL && !is_allowed(sftp, request)) {
        status = SFTP_PERMISSION_DENIED;
    } else if (request != NULL) {
        sftp->flag = request->flag;
        status = request->answer(sftp);
        status = sftp->message.failed ? SFTP_BAD_MESSAGE : status;
    }
    if (status != SFTP_ANSWERED) {
        answer_status(sftp, status);
    }
}
