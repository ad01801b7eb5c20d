/*
 * Names of files and directories (draft-ietf-secsh-filexfer-02, sections 6.5, 6.6, 6.10 and 6.11).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sftp.h"

/* RENAME_NOREPLACE of linux/fs.h. */
#define NO_REPLACE 1

bool sftp_read_path(struct sftp *sftp, char path[static PATH_BYTES])
{
    struct reader name = reader_string(&sftp->message);
    bool fits = !sftp->message.failed && reader_text(&name, path, PATH_BYTES);
    if (!fits) {
        answer_status(sftp, SFTP_BAD_MESSAGE);
    }
    return fits;
}

/* ---- removing and making --------------------------------------------------------------------- */

static void remove_name(struct sftp *sftp, int flags)
{
    char path[PATH_BYTES];
    struct place place;
    if (!sftp_read_path(sftp, path)) {
        return;
    }
    int error = paths_find(&sftp->paths, &place, path, false);
    if (error == 0) {
        error = unlinkat(place.directory, place.name, flags) == 0 ? 0 : errno;
        paths_leave(&place);
    }
    answer_error(sftp, error);
}

void on_remove(struct sftp *sftp)
{
    remove_name(sftp, 0);
}

void on_rmdir(struct sftp *sftp)
{
    remove_name(sftp, AT_REMOVEDIR);
}

void on_mkdir(struct sftp *sftp)
{
    char path[PATH_BYTES];
    struct place place;
    struct reader name = reader_string(&sftp->message);
    struct attributes wanted = attributes_read(&sftp->message);
    if (sftp->message.failed || !reader_text(&name, path, sizeof(path))) {
        answer_status(sftp, SFTP_BAD_MESSAGE);
        return;
    }
    int error = paths_find(&sftp->paths, &place, path, false);
    if (error == 0) {
        mode_t mode = attributes_mode(&wanted, 0777);
        error = mkdirat(place.directory, place.name, mode) == 0 ? 0 : errno;
        paths_leave(&place);
    }
    answer_error(sftp, error);
}

/* ---- two names ------------------------------------------------------------------------------- */

static int rename_over(const struct place *from, const struct place *to)
{
    return renameat(from->directory, from->name, to->directory, to->name) == 0 ? 0 : errno;
}

/* RENAME of version 3 never replaces a file. Where the kernel (before 3.15) or the file system
 * lacks the flag, a second link does the same for a file, without a gap. A directory, or a file
 * that can't have a second link, is renamed after a check that the new name is free. */
static int rename_new(const struct place *from, const struct place *to)
{
    struct stat status;
    if (syscall(SYS_renameat2, from->directory, from->name, to->directory, to->name, NO_REPLACE) ==
        0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return errno;
    }
    if (linkat(from->directory, from->name, to->directory, to->name, 0) == 0) {
        return unlinkat(from->directory, from->name, 0) == 0 ? 0 : errno;
    }
    bool is_there =
        errno == EEXIST || fstatat(to->directory, to->name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    return is_there ? EEXIST : rename_over(from, to);
}

static int link_to(const struct place *from, const struct place *to)
{
    return linkat(from->directory, from->name, to->directory, to->name, 0) == 0 ? 0 : errno;
}

static void with_two_names(struct sftp *sftp,
                           int (*act)(const struct place *from, const struct place *to))
{
    char first[PATH_BYTES], second[PATH_BYTES];
    struct place from, to;
    if (!sftp_read_path(sftp, first) || !sftp_read_path(sftp, second)) {
        return;
    }
    int error = paths_find(&sftp->paths, &from, first, false);
    if (error == 0) {
        error = paths_find(&sftp->paths, &to, second, false);
        if (error == 0) {
            error = act(&from, &to);
            paths_leave(&to);
        }
        paths_leave(&from);
    }
    answer_error(sftp, error);
}

void on_rename(struct sftp *sftp)
{
    with_two_names(sftp, rename_new);
}

void on_posix_rename(struct sftp *sftp)
{
    with_two_names(sftp, rename_over);
}

void on_hardlink(struct sftp *sftp)
{
    with_two_names(sftp, link_to);
}

/* The target comes first, as with OpenSSH's server and client. The draft has the other order, which
 * some clients send to servers that do not call themselves OpenSSH. */
void on_symlink(struct sftp *sftp)
{
    char target[PATH_BYTES], path[PATH_BYTES];
    struct place place;
    if (!sftp_read_path(sftp, target) || !sftp_read_path(sftp, path)) {
        return;
    }
    int error = paths_find(&sftp->paths, &place, path, false);
    if (error == 0) {
        error = symlinkat(target, place.directory, place.name) == 0 ? 0 : errno;
        paths_leave(&place);
    }
    answer_error(sftp, error);
}

static void answer_found(struct sftp *sftp,
                         int (*find)(const struct paths *paths, char found[static PATH_BYTES],
                                     const char *path))
{
    char path[PATH_BYTES], found[PATH_BYTES];
    if (sftp_read_path(sftp, path)) {
        int error = find(&sftp->paths, found, path);
        answer_name(sftp, error, found);
    }
}

void on_readlink(struct sftp *sftp)
{
    answer_found(sftp, paths_read_link);
}

void on_realpath(struct sftp *sftp)
{
    answer_found(sftp, paths_real);
}
