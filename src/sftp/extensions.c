/*
 * The extensions of OpenSSH (its file PROTOCOL, section 4) that are not variants of a request of
 * the draft.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/vfs.h>

#include "sftp.h"

/* ---- statvfs@, fstatvfs@ --------------------------------------------------------------------- */

/* Of the system's flags these have a meaning in the protocol, and the same number. */
#define FLAG_READ_ONLY 1
#define FLAG_NO_SETUID 2

/* musl's statvfs() leaves out half of the file system's id, so this is statfs(2). */
static enum sftp_status answer_statfs(struct sftp *sftp, int fd)
{
    struct statfs status;
    uint32_t id[2];
    if (fstatfs(fd, &status) != 0) {
        return answer_status_of(errno);
    }
    _Static_assert(sizeof(id) == sizeof(status.f_fsid), "the id is two numbers");
    memcpy(id, &status.f_fsid, sizeof(id));
    const uint64_t fields[] = {
        (uint64_t)status.f_bsize,
        (uint64_t)(status.f_frsize != 0 ? status.f_frsize : status.f_bsize),
        status.f_blocks,
        status.f_bfree,
        status.f_bavail,
        status.f_files,
        status.f_ffree,
        status.f_ffree, /* Linux keeps none of them for root */
        (uint64_t)id[1] << 32 | id[0],
        (uint64_t)status.f_flags & (FLAG_READ_ONLY | FLAG_NO_SETUID),
        (uint64_t)status.f_namelen,
    };
    size_t mark = answer_begin(sftp, SFTP_EXTENDED_REPLY);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        answer_u64(&sftp->answers, fields[i]);
    }
    return answer_end(sftp, mark);
}

enum sftp_status on_statvfs(struct sftp *sftp)
{
    char path[PATH_BYTES];
    int fd = -1;
    if (!sftp_read_path(sftp, path)) {
        return SFTP_BAD_MESSAGE;
    }
    int error = paths_open(&sftp->paths, &fd, path, O_PATH, 0);
    if (error != 0) {
        return answer_status_of(error);
    }
    enum sftp_status status = answer_statfs(sftp, fd);
    close(fd);
    return status;
}

enum sftp_status on_fstatvfs(struct sftp *sftp)
{
    struct handle *handle = handle_read(sftp);
    return handle != NULL ? answer_statfs(sftp, handle->fd) : SFTP_FAILURE;
}

/* ---- what clients ask about the server ------------------------------------------------------- */

enum sftp_status on_limits(struct sftp *sftp)
{
    size_t mark = answer_begin(sftp, SFTP_EXTENDED_REPLY);
    answer_u64(&sftp->answers, LIMIT_SFTP_PACKET_BYTES);
    answer_u64(&sftp->answers, LIMIT_SFTP_DATA_BYTES);
    answer_u64(&sftp->answers, LIMIT_SFTP_DATA_BYTES);
    answer_u64(&sftp->answers, sftp->most_handles);
    return answer_end(sftp, mark);
}

/* Finds the home of a user; an empty name means the logged-in user. A jail hides the homes: there
 * the home is where relative names start. */
static int find_home(const struct sftp *sftp, char home[static PATH_BYTES], const char *user)
{
    if (sftp->paths.jail >= 0 && user[0] == '\0') {
        snprintf(home, PATH_BYTES, "%s", sftp->paths.directory);
        return 0;
    }
    return sftp->paths.jail < 0 && owners_home(home, user) ? 0 : ENOENT;
}

enum sftp_status on_home_directory(struct sftp *sftp)
{
    char user[PATH_BYTES], home[PATH_BYTES];
    return sftp_read_path(sftp, user) ? answer_name(sftp, find_home(sftp, home, user), home)
                                      : SFTP_BAD_MESSAGE;
}

/* "~", "~user" and what follows after a slash; any other path as REALPATH has it. */
enum sftp_status on_expand_path(struct sftp *sftp)
{
    char path[PATH_BYTES], home[PATH_BYTES], real[PATH_BYTES];
    int error = 0;
    if (!sftp_read_path(sftp, path)) {
        return SFTP_BAD_MESSAGE;
    }
    if (path[0] == '~') {
        size_t user_bytes = strcspn(path, "/");
        snprintf(real, sizeof(real), "%.*s", (int)user_bytes - 1, path + 1);
        memmove(path, path + user_bytes, strlen(path + user_bytes) + 1);
        error = find_home(sftp, home, real);
        error = error == 0 ? path_prepend(path, home) : error;
    }
    error = error == 0 ? paths_real(&sftp->paths, real, path) : error;
    return answer_name(sftp, error, real);
}

/* ---- users-groups-by-id@ --------------------------------------------------------------------- */

typedef bool find_name(char name[static OWNER_NAME_BYTES], uint32_t id, bool jailed);

/* A number without a name has an empty one. */
static void add_names(struct sftp *sftp, struct reader ids, find_name *find)
{
    char name[OWNER_NAME_BYTES];
    size_t mark = writer_string_begin(&sftp->answers);
    while (ids.left >= 4) {
        bool known = find(name, reader_u32(&ids), sftp->paths.jail >= 0);
        writer_text(&sftp->answers, known ? name : "");
    }
    writer_string_end(&sftp->answers, mark);
}

enum sftp_status on_users_groups(struct sftp *sftp)
{
    struct reader users = reader_string(&sftp->message);
    struct reader groups = reader_string(&sftp->message);
    /* The 4 bytes of a number become a name with its length. */
    size_t most = LIMIT_SFTP_ANSWER_BYTES / (4 + OWNER_NAME_BYTES) * 4 - 4;
    if (sftp->message.failed || users.left % 4 != 0 || groups.left % 4 != 0 ||
        users.left + groups.left > most) {
        return SFTP_BAD_MESSAGE;
    }
    size_t mark = answer_begin(sftp, SFTP_EXTENDED_REPLY);
    add_names(sftp, users, owners_user);
    add_names(sftp, groups, owners_group);
    return answer_end(sftp, mark);
}
