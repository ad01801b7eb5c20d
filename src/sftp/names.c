/*
 * Names of files and directories (draft-ietf-secsh-filexfer-02, sections 6.5, 6.6, 6.10 and 6.11).
 */
#include <fcntl.h>
#include <stdio.h>

#include "sftp.h"

/* RENAME_NOREPLACE of linux/fs.h. */
#define NO_REPLACE 1

bool sftp_read_path(struct sftp *sftp, char path[static PATH_BYTES])
{
    struct reader name = reader_string(&sftp->message);
    return !sftp->message.failed && reader_text(&name, path, PATH_BYTES);
}

/* ---- removing and making --------------------------------------------------------------------- */

enum sftp_status on_remove(struct sftp *sftp)
{
    char path[PATH_BYTES];
    struct found_name found;
    if (!sftp_read_path(sftp, path)) {
        return SFTP_BAD_MESSAGE;
    }
    int error = paths_find(&sftp->paths, &found, path, false);
    if (error == 0) {
        error = paths_leave(&found, unlinkat(found.directory, found.name, sftp->flag));
    }
    return answer_status_of(error);
}

enum sftp_status on_mkdir(struct sftp *sftp)
{
    char path[PATH_BYTES];
    struct found_name found;
    struct reader name = reader_string(&sftp->message);
    struct attributes wanted = attributes_read(&sftp->message);
    if (sftp->message.failed || !reader_text(&name, path, sizeof(path))) {
        return SFTP_BAD_MESSAGE;
    }
    int error = paths_find(&sftp->paths, &found, path, false);
    if (error == 0) {
        mode_t mode = attributes_mode(&wanted, 0777);
        error = paths_leave(&found, mkdirat(found.directory, found.name, mode));
    }
    return answer_status_of(error);
}

/* ---- two names ------------------------------------------------------------------------------- */

static int rename_over(const struct found_name *from, const struct found_name *to)
{
    return renameat(from->directory, from->name, to->directory, to->name);
}

static bool is_file(const struct found_name *found, const struct stat *file)
{
    struct stat status;
    return fstatat(found->directory, found->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           lease_is_same(&status, file);
}

static bool is_same_file(const struct found_name *one, const struct found_name *other)
{
    struct stat file;
    return fstatat(other->directory, other->name, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
           is_file(one, &file);
}

/* Removes the old name of a file that has both; if that can't be removed, the new one. Another
 * process may have given either name to another file meanwhile, and a network file system may
 * remove a name and report an error: a name is removed only while it is the file's. Under FUSE
 * each name of a file can have a number of its own: there the old one must be as before. */
static int keep_new_name(const struct found_name *from, const struct found_name *to,
                         const struct stat *before)
{
    bool is_ours = is_same_file(from, to) || is_file(from, before);
    int result = is_ours ? unlinkat(from->directory, from->name, 0) : 0;
    int error = errno;
    if (result != 0 && is_same_file(from, to)) {
        unlinkat(to->directory, to->name, 0);
    }
    errno = error;
    return result;
}

/* RENAME of version 3 never replaces a file. Where the kernel (before 3.15) or the file system
 * lacks the flag, a second link does the same for a file, without a gap. A directory, or a file
 * that can't have a second link, is renamed after a check that the new name is free. */
static int rename_new(const struct found_name *from, const struct found_name *to)
{
    struct stat before, status;
    int result = (int)syscall(SYS_renameat2, from->directory, from->name, to->directory, to->name,
                              NO_REPLACE);
    if (result == 0 || (errno != EINVAL && errno != ENOSYS)) {
        return result;
    }
    if (fstatat(from->directory, from->name, &before, AT_SYMLINK_NOFOLLOW) != 0) {
        return -1;
    }
    if (linkat(from->directory, from->name, to->directory, to->name, 0) == 0) {
        return keep_new_name(from, to, &before);
    }
    if (errno != EEXIST && fstatat(to->directory, to->name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? rename_over(from, to) : -1;
    }
    errno = EEXIST;
    return -1;
}

static int link_to(const struct found_name *from, const struct found_name *to)
{
    return linkat(from->directory, from->name, to->directory, to->name, 0);
}

static enum sftp_status with_two_names(struct sftp *sftp, int (*act)(const struct found_name *from,
                                                                     const struct found_name *to))
{
    char first[PATH_BYTES], second[PATH_BYTES];
    struct found_name from, to;
    if (!sftp_read_path(sftp, first) || !sftp_read_path(sftp, second)) {
        return SFTP_BAD_MESSAGE;
    }
    int error = paths_find(&sftp->paths, &from, first, false);
    if (error == 0) {
        error = paths_find(&sftp->paths, &to, second, false);
        error = error != 0 ? error : paths_leave(&to, act(&from, &to));
        paths_leave(&from, 0);
    }
    return answer_status_of(error);
}

enum sftp_status on_rename(struct sftp *sftp)
{
    return with_two_names(sftp, rename_new);
}

enum sftp_status on_posix_rename(struct sftp *sftp)
{
    return with_two_names(sftp, rename_over);
}

enum sftp_status on_hardlink(struct sftp *sftp)
{
    return with_two_names(sftp, link_to);
}

static int make_link(const struct paths *paths, const char *target, const char *path)
{
    struct found_name found;
    int error = paths_find(paths, &found, path, false);
    return error == 0 ? paths_leave(&found, symlinkat(target, found.directory, found.name)) : error;
}

/* The target comes first, as with OpenSSH's server and client. The draft has the other order, which
 * some clients send to servers that do not call themselves OpenSSH. It is accepted where only it
 * can succeed: the second name exists and the first is free. But if the second is a link itself, a
 * client may have wanted to replace it, which must fail. */
enum sftp_status on_symlink(struct sftp *sftp)
{
    char first[PATH_BYTES], second[PATH_BYTES];
    struct stat status;
    if (!sftp_read_path(sftp, first) || !sftp_read_path(sftp, second)) {
        return SFTP_BAD_MESSAGE;
    }
    int error = make_link(&sftp->paths, first, second);
    if (error == EEXIST && paths_stat(&sftp->paths, &status, second, false) == 0 &&
        !S_ISLNK(status.st_mode) && make_link(&sftp->paths, second, first) == 0) {
        error = 0;
    }
    return answer_status_of(error);
}

enum sftp_status on_readlink(struct sftp *sftp)
{
    char path[PATH_BYTES], target[PATH_BYTES];
    return sftp_read_path(sftp, path)
               ? answer_name(sftp, paths_read_link(&sftp->paths, target, path), target)
               : SFTP_BAD_MESSAGE;
}

enum sftp_status on_realpath(struct sftp *sftp)
{
    char path[PATH_BYTES], real[PATH_BYTES];
    return sftp_read_path(sftp, path)
               ? answer_name(sftp, paths_real(&sftp->paths, real, path), real)
               : SFTP_BAD_MESSAGE;
}
