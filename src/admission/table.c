#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "log.h"

#define MAGIC   "wrensshd"
#define VERSION 2

/* Versions before the second had another name: daemons of both would replace each other's table. */
#define NAME       "/wrensshd.slots"
#define PATH_BYTES 160

void table_front_make(struct table_front *front, uint64_t memory_bytes)
{
    *front = (struct table_front){
        .magic = MAGIC, .version = VERSION, .limit = limit_slots(memory_bytes)};
}

void table_front_make_here(struct table_front *front)
{
    struct sysinfo found;
    table_front_make(front, sysinfo(&found) == 0 ? (uint64_t)found.totalram * found.mem_unit : 0);
}

bool table_front_is_ours(const struct table_front *front)
{
    return memcmp(front->magic, MAGIC, sizeof(front->magic)) == 0 && front->version == VERSION &&
           front->limit >= LIMIT_SLOTS_LEAST && front->limit <= LIMIT_SLOTS;
}

bool table_write(int fd, const void *bytes, size_t count, size_t offset)
{
    ssize_t written = pwrite(fd, bytes, count, (off_t)offset);
    if (written >= 0 && (size_t)written < count) {
        errno = ENOSPC;
    }
    return written == (ssize_t)count;
}

bool table_read(int fd, void *bytes, size_t count, size_t offset)
{
    return pread(fd, bytes, count, (off_t)offset) == (ssize_t)count;
}

static struct flock lock_of(short type, size_t count, size_t offset)
{
    return (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = (off_t)count};
}

bool table_lock(int fd, size_t count, size_t offset)
{
    struct flock lock = lock_of(F_WRLCK, count, offset);
    return fcntl(fd, F_SETLK, &lock) == 0;
}

void table_unlock(int fd, size_t count, size_t offset)
{
    struct flock lock = lock_of(F_UNLCK, count, offset);
    fcntl(fd, F_SETLK, &lock);
}

size_t table_take(int fd, size_t bytes, size_t offset, size_t count, size_t start)
{
    for (size_t tried = 0; tried < count; tried++) {
        size_t record = (start + tried) % count;
        if (table_lock(fd, bytes, offset + record * bytes)) {
            return record;
        }
    }
    return count;
}

pid_t table_holder(int fd, size_t count, size_t offset)
{
    struct flock lock = lock_of(F_WRLCK, count, offset);
    bool held = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0;
    return held ? lock.l_pid : 0;
}

/* After the front. All of it is written, so that a slot never meets a full file system. */
static char empty[sizeof(struct table_file) - offsetof(struct table_file, slots)];

/* Under another name at first, so that nobody sees half of it. Returns -1, with errno, if it can't
 * be made: EEXIST if another connection has made it since. */
static int make_table(const char *path, struct table_front *front)
{
    char made[PATH_BYTES + 16];
    snprintf(made, sizeof(made), "%s.%d", path, (int)getpid());
    table_front_make_here(front);
    unlink(made); /* of a process that had this pid, and was killed */
    int fd = openat(AT_FDCWD, made, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool is_made = fd >= 0 && table_write(fd, front, sizeof(*front), 0) &&
                   table_write(fd, empty, sizeof(empty), offsetof(struct table_file, slots)) &&
                   link(made, path) == 0;
    int error = errno;
    unlink(made);
    if (fd >= 0 && !is_made) {
        close(fd);
    }
    errno = error;
    return is_made ? fd : -1;
}

/* NULL, or why the file is not to be trusted. */
static const char *judge_owner(const struct stat *found, uid_t uid)
{
    return !S_ISREG(found->st_mode)       ? "no regular file"
           : found->st_uid != uid         ? "has another owner"
           : (found->st_mode & 0077) != 0 ? "is open to other users"
                                          : NULL;
}

static const char damaged[] = "damaged or of another version; replaced";

/* NULL, or why the file is no table that can be used. */
static const char *judge_table(int fd, struct table_front *front, uid_t uid)
{
    struct stat found;
    const char *wrong = fstat(fd, &found) != 0 ? strerror(errno) : judge_owner(&found, uid);
    bool is_table = wrong == NULL && found.st_size == sizeof(struct table_file) &&
                    table_read(fd, front, sizeof(*front), 0) && table_front_is_ours(front);
    return wrong == NULL && !is_table ? damaged : wrong;
}

#define FLAGS (O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

/* Others may make or replace the table at the same time. */
#define TRIES 3

/* Replaces a file of ours that is no table of this version. Its holders keep their slots until the
 * login, but are not counted. On failure returns -1 with errno, which is 0 if the log has the
 * reason. */
static int open_at(const char *path, struct table_front *front, uid_t uid)
{
    for (unsigned tries = 1; tries <= TRIES; tries++) {
        int fd = openat(AT_FDCWD, path, FLAGS);
        if (fd < 0) {
            fd = errno == ENOENT ? make_table(path, front) : -1;
            if (fd >= 0 || errno != EEXIST || tries == TRIES) {
                return fd;
            }
            continue;
        }
        const char *wrong = judge_table(fd, front, uid);
        if (wrong == NULL) {
            return fd;
        }
        log_trouble(TABLE_TROUBLE, path, wrong);
        close(fd);
        if (wrong != damaged || unlink(path) != 0) {
            break;
        }
    }
    errno = 0;
    return -1;
}

int table_open(struct table_front *front, uid_t uid)
{
    char path[PATH_BYTES];
    const char *directory = uid == 0 ? "/run" : getenv("XDG_RUNTIME_DIR");
    if (directory == NULL || directory[0] != '/' || strlen(directory) + sizeof(NAME) > PATH_BYTES) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s" NAME, directory);
    int fd = open_at(path, front, uid);
    if (fd < 0 && errno == ENOENT && uid == 0) {
        snprintf(path, sizeof(path), "/var/run" NAME); /* the older name */
        fd = open_at(path, front, uid);
    }
    if (fd < 0 && errno != 0) {
        log_trouble(TABLE_TROUBLE, path, strerror(errno));
    }
    return fd;
}
