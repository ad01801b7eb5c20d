#include "sftp.h"

#include <fcntl.h>
#include <stdio.h>

struct attributes attributes_read(struct reader *message)
{
    struct attributes wanted = {.flags = reader_u32(message)};
    if ((wanted.flags & SFTP_ATTR_SIZE) != 0) {
        wanted.size = reader_u64(message);
    }
    if ((wanted.flags & SFTP_ATTR_OWNERS) != 0) {
        wanted.uid = reader_u32(message);
        wanted.gid = reader_u32(message);
    }
    if ((wanted.flags & SFTP_ATTR_PERMISSIONS) != 0) {
        wanted.permissions = reader_u32(message) & 07777;
    }
    if ((wanted.flags & SFTP_ATTR_TIMES) != 0) {
        wanted.accessed = reader_u32(message);
        wanted.modified = reader_u32(message);
    }
    if ((wanted.flags & SFTP_ATTR_EXTENDED) != 0) {
        for (uint32_t left = reader_u32(message); left > 0 && !message->failed; left--) {
            reader_string(message);
            reader_string(message);
        }
    }
    return wanted;
}

mode_t attributes_mode(const struct attributes *wanted, mode_t otherwise)
{
    return (wanted->flags & SFTP_ATTR_PERMISSIONS) != 0 ? wanted->permissions : otherwise;
}

void attributes_write(struct writer *answers, const struct stat *status)
{
    owners_show(status->st_uid, status->st_gid);
    writer_u32(answers,
               SFTP_ATTR_SIZE | SFTP_ATTR_OWNERS | SFTP_ATTR_PERMISSIONS | SFTP_ATTR_TIMES);
    answer_u64(answers, (uint64_t)status->st_size);
    writer_u32(answers, status->st_uid);
    writer_u32(answers, status->st_gid);
    writer_u32(answers, status->st_mode);
    writer_u32(answers, (uint32_t)status->st_atime);
    writer_u32(answers, (uint32_t)status->st_mtime);
}

/* ---- setting --------------------------------------------------------------------------------- */

/* Remembers the errno of a call that has failed. */
static void keep_error(int *error, int result)
{
    *error = result != 0 ? errno : *error;
}

/* A link's own mode can't be set. For other files C libraries use different system calls, which the
 * seccomp list would have to allow. */
static int set_mode_at(const struct found_name *found, mode_t mode)
{
    char path[32];
    struct stat status;
    if ((found->flags & AT_SYMLINK_NOFOLLOW) == 0) {
        return fchmodat(found->directory, found->name, mode, 0);
    }
    int fd = openat(found->directory, found->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    int result = fstat(fd, &status);
    errno = result == 0 ? EOPNOTSUPP : errno;
    if (result == 0 && !S_ISLNK(status.st_mode)) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        result = fchmodat(AT_FDCWD, path, mode, 0);
    } else {
        result = -1;
    }
    int error = errno;
    close(fd);
    errno = error;
    return result;
}

int attributes_set(const struct attributes *wanted, int fd, const struct found_name *found)
{
    int error = 0;
    const struct timespec times[2] = {{.tv_sec = (time_t)wanted->accessed},
                                      {.tv_sec = (time_t)wanted->modified}};
    if ((wanted->flags & SFTP_ATTR_SIZE) != 0 && found == NULL) {
        keep_error(&error, ftruncate(fd, (off_t)wanted->size));
    }
    if ((wanted->flags & SFTP_ATTR_PERMISSIONS) != 0) {
        keep_error(&error, found == NULL ? fchmod(fd, wanted->permissions)
                                         : set_mode_at(found, wanted->permissions));
    }
    if ((wanted->flags & SFTP_ATTR_TIMES) != 0) {
        keep_error(&error, found == NULL
                               ? futimens(fd, times)
                               : utimensat(found->directory, found->name, times, found->flags));
    }
    if ((wanted->flags & SFTP_ATTR_OWNERS) != 0) {
        keep_error(&error, found == NULL ? fchown(fd, wanted->uid, wanted->gid)
                                         : fchownat(found->directory, found->name, wanted->uid,
                                                    wanted->gid, found->flags));
    }
    return error;
}
