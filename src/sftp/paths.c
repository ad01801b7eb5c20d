#include "paths.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/vfs.h>

#define PROC_FILE_SYSTEM 0x9fa0 /* PROC_SUPER_MAGIC of linux/magic.h */

/* The most symbolic links in one name, as in the kernel. */
#define LINKS_MAX 40

/* A file name with its NUL (NAME_MAX), on all but a few foreign file systems. */
#define NAME_MAX_BYTES 256

#define DIRECTORY_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)

/* ---- opening inside the jail ----------------------------------------------------------------- */

/* Writes the whole name as seen from the jail's root. */
static int name_inside(const struct paths *paths, char out[static PATH_BYTES], const char *path)
{
    int bytes = path[0] == '/' ? snprintf(out, PATH_BYTES, "%s", path)
                               : snprintf(out, PATH_BYTES, "%s/%s", paths->directory, path);
    return path[0] == '\0' ? ENOENT : bytes < PATH_BYTES ? 0 : ENAMETOOLONG;
}

/* Has the kernel resolve an absolute name within the jail. Also tries again if a directory has
 * moved meanwhile, as the error is the same. */
static int open_resolved(const struct paths *paths, int *fd, const char *inside, int flags,
                         mode_t mode)
{
    struct open_how how = {.flags = (uint64_t)(unsigned)flags,
                           .mode = (flags & O_CREAT) != 0 ? mode : 0,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    if ((flags & O_PATH) == 0) { /* as a C library does for openat(2): files from 2 GiB on */
        how.flags |= O_LARGEFILE;
    }
    unsigned waits = 0;
    do {
        *fd = (int)syscall(CALL_OPENAT2, paths->jail, inside, &how, sizeof(how));
    } while (*fd < 0 && lease_wait(errno, &waits));
    return *fd >= 0 ? 0 : errno;
}

/* Opens a directory by a name without links and "..", part by part. */
static int walk_to(const struct paths *paths, int *directory, char *real)
{
    char *rest = NULL;
    *directory = openat(paths->jail, ".", DIRECTORY_FLAGS);
    for (char *name = strtok_r(real, "/", &rest); name != NULL && *directory >= 0;
         name = strtok_r(NULL, "/", &rest)) {
        int next = openat(*directory, name, DIRECTORY_FLAGS | O_NOFOLLOW);
        int error = errno;
        close(*directory);
        *directory = next;
        errno = error;
    }
    return *directory >= 0 ? 0 : errno;
}

/* `is_real`: the name has no links and no "..". */
static int open_directory(const struct paths *paths, int *fd, const char *path, bool is_real)
{
    char real[PATH_BYTES];
    const char *name = path[0] != '\0' ? path : "/";
    if (!paths->walks) {
        return open_resolved(paths, fd, name, DIRECTORY_FLAGS, 0);
    }
    snprintf(real, sizeof(real), "%s", name);
    int error = is_real ? 0 : paths_real(paths, real, name);
    return error == 0 ? walk_to(paths, fd, real) : error;
}

static bool is_no_directory(const struct found_name *found)
{
    struct stat status;
    return fstatat(found->directory, found->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           !S_ISDIR(status.st_mode);
}

/* The directory before the last name must be in the jail. The system call that follows takes the
 * last name as it is. */
static int find_inside(const struct paths *paths, struct found_name *found, const char *path,
                       bool is_real)
{
    int error = name_inside(paths, found->bytes, path);
    if (error != 0) {
        return error;
    }
    bool has_slash = found->bytes[strlen(found->bytes) - 1] == '/';
    found->flags = AT_SYMLINK_NOFOLLOW;
    found->name = path_cut_last(found->bytes);
    if (path_is_dots(found->name)) {
        found->bytes[strlen(found->bytes)] = found->name[0] != '\0' ? '/' : '\0';
        found->name = ".";
    }
    error = open_directory(paths, &found->directory, found->bytes, is_real);
    if (error == 0 && has_slash && is_no_directory(found)) {
        close(found->directory);
        error = ENOTDIR;
    }
    return error;
}

/* O_PATH opens a link that has just taken a file's place. */
static int refuse_link(int fd)
{
    struct stat status;
    if (fstat(fd, &status) == 0 && !S_ISLNK(status.st_mode)) {
        return 0;
    }
    close(fd);
    return ELOOP;
}

/* O_EXCL refuses a link at the end; without it, `real` has no link any more. */
static int open_walking(const struct paths *paths, int *fd, const char *path, int flags,
                        mode_t mode)
{
    struct found_name found;
    char real[PATH_BYTES];
    bool exclusive = (flags & O_EXCL) != 0;
    int error = exclusive ? 0 : paths_real(paths, real, path);
    error = error == 0 ? find_inside(paths, &found, exclusive ? path : real, !exclusive) : error;
    if (error == 0) {
        *fd = lease_openat(found.directory, found.name, flags | O_NOFOLLOW, mode);
        error = paths_leave(&found, *fd);
    }
    return error == 0 && (flags & O_PATH) != 0 ? refuse_link(*fd) : error;
}

static int open_inside(const struct paths *paths, int *fd, const char *path, int flags, mode_t mode)
{
    char inside[PATH_BYTES];
    int error = name_inside(paths, inside, path);
    return error != 0     ? error
           : paths->walks ? open_walking(paths, fd, inside, flags, mode)
                          : open_resolved(paths, fd, inside, flags, mode);
}

/* Keeps the link's target open, so that the name in /proc leads to nothing else. */
static int follow_inside(const struct paths *paths, struct found_name *found, const char *path)
{
    found->directory = -1;
    int error = open_inside(paths, &found->directory, path, O_PATH | O_CLOEXEC, 0);
    snprintf(found->bytes, sizeof(found->bytes), "/proc/self/fd/%d", found->directory);
    found->name = found->bytes;
    return error;
}

/* ---- with or without a jail ------------------------------------------------------------------ */

int paths_find(const struct paths *paths, struct found_name *found, const char *path, bool follow)
{
    found->flags = follow ? 0 : AT_SYMLINK_NOFOLLOW;
    if (paths->jail >= 0) {
        return follow ? follow_inside(paths, found, path) : find_inside(paths, found, path, false);
    }
    found->directory = AT_FDCWD;
    found->name = path;
    return 0;
}

int paths_leave(struct found_name *found, ssize_t result)
{
    int error = result < 0 ? errno : 0;
    if (found->directory >= 0) {
        close(found->directory);
    }
    return error;
}

int paths_open(const struct paths *paths, int *fd, const char *path, int flags, mode_t mode)
{
    flags |= O_CLOEXEC;
    if ((flags & O_PATH) == 0) {
        flags |= O_NOCTTY | O_NONBLOCK;
    }
    if (paths->jail >= 0) {
        return open_inside(paths, fd, path, flags, mode);
    }
    *fd = lease_openat(AT_FDCWD, path, flags, mode);
    return *fd >= 0 ? 0 : errno;
}

static bool is_proc(int directory)
{
    struct statfs status;
    return fstatfs(directory, &status) != 0 || status.f_type == PROC_FILE_SYSTEM;
}

bool paths_is_root(const struct paths *paths, int directory)
{
    struct stat root, status;
    return paths->jail >= 0 && fstat(paths->jail, &root) == 0 && fstat(directory, &status) == 0 &&
           lease_is_same(&root, &status);
}

/* readlinkat(2), but EACCES for what would show names outside of the jail. */
static int read_target(const struct paths *paths, char target[static PATH_BYTES], int directory,
                       const char *name)
{
    ssize_t bytes = readlinkat(directory, name, target, PATH_BYTES - 1);
    if (bytes < 0) {
        return errno;
    }
    target[bytes] = '\0';
    return paths->jail >= 0 && (is_proc(directory) || path_begins_with(target, paths->outside))
               ? EACCES
               : 0;
}

int paths_stat_name(const struct paths *paths, struct stat *status, int directory, const char *name)
{
    char target[PATH_BYTES];
    if (fstatat(directory, name, status, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno;
    }
    if (paths->jail >= 0 && S_ISLNK(status->st_mode)) {
        int error = read_target(paths, target, directory, name);
        status->st_size = error == 0 ? (off_t)strlen(target) : 0;
    }
    return 0;
}

int paths_stat(const struct paths *paths, struct stat *status, const char *path, bool follow)
{
    struct found_name found;
    int error = paths_find(paths, &found, path, follow);
    if (error == 0 && !follow) {
        error = paths_stat_name(paths, status, found.directory, found.name);
        paths_leave(&found, 0);
    } else if (error == 0) {
        error = paths_leave(&found, paths->jail >= 0 ? fstat(found.directory, status)
                                                     : fstatat(AT_FDCWD, path, status, 0));
    }
    return error;
}

/* `is_real`: all but the last part of the name is without links and "..". */
static int read_link(const struct paths *paths, char target[static PATH_BYTES], const char *path,
                     bool is_real)
{
    struct found_name found;
    int error = paths->jail >= 0 ? find_inside(paths, &found, path, is_real)
                                 : paths_find(paths, &found, path, false);
    if (error != 0) {
        return error;
    }
    error = read_target(paths, target, found.directory, found.name);
    paths_leave(&found, 0);
    return error;
}

int paths_read_link(const struct paths *paths, char target[static PATH_BYTES], const char *path)
{
    return read_link(paths, target, path, false);
}

/* ---- the real name --------------------------------------------------------------------------- */

/* Adds one name to `real`. If it is a link, puts its target before `rest` instead. */
static int resolve_name(const struct paths *paths, char real[static PATH_BYTES],
                        char rest[static PATH_BYTES], const char *name, unsigned *links)
{
    char target[PATH_BYTES];
    size_t used = strlen(real);
    if (used + 1 + strlen(name) >= PATH_BYTES) {
        return ENAMETOOLONG;
    }
    snprintf(real + used, PATH_BYTES - used, "/%s", name);
    int error = read_link(paths, target, real, true);
    if (error == EINVAL || (error == ENOENT && rest[0] == '\0')) {
        return 0; /* no link, or the last part, which need not exist */
    }
    if (error != 0) {
        return error;
    }
    if (++*links > LINKS_MAX) {
        return ELOOP;
    }
    real[target[0] == '/' ? 0 : used] = '\0';
    return path_prepend(rest, target);
}

static int take_component(const struct paths *paths, char real[static PATH_BYTES],
                          char rest[static PATH_BYTES], unsigned *links)
{
    char name[NAME_MAX_BYTES];
    char *start = rest + strspn(rest, "/");
    size_t bytes = strcspn(start, "/");
    if (bytes >= sizeof(name)) {
        return ENAMETOOLONG;
    }
    snprintf(name, sizeof(name), "%.*s", (int)bytes, start);
    memmove(rest, start + bytes, strlen(start + bytes) + 1);
    if (strcmp(name, "..") == 0 && real[0] != '\0') {
        *strrchr(real, '/') = '\0';
    }
    return path_is_dots(name) ? 0 : resolve_name(paths, real, rest, name, links);
}

int paths_real(const struct paths *paths, char real[static PATH_BYTES], const char *path)
{
    char rest[PATH_BYTES];
    unsigned links = 0;
    int error = snprintf(rest, PATH_BYTES, "%s", path) < PATH_BYTES ? 0 : ENAMETOOLONG;
    bool absolute = path[0] == '/' || strcmp(paths->directory, "/") == 0;
    snprintf(real, PATH_BYTES, "%s", absolute ? "" : paths->directory);
    while (error == 0 && rest[strspn(rest, "/")] != '\0') {
        error = take_component(paths, real, rest, &links);
    }
    if (error == 0 && real[0] == '\0') {
        snprintf(real, PATH_BYTES, "/");
    }
    return error;
}

/* ---- the start ------------------------------------------------------------------------------- */

static int begin_jail(struct paths *paths, const char *jail, const char *directory)
{
    int root = -1;
    int fd = open(jail, DIRECTORY_FLAGS);
    if (fd < 0 || fchdir(fd) != 0 || getcwd(paths->outside, PATH_BYTES) == NULL) {
        return errno;
    }
    paths->jail = fd;
    paths->walks = false;
    snprintf(paths->directory, PATH_BYTES, "/");
    int error = open_inside(paths, &root, "/", DIRECTORY_FLAGS, 0);
    paths->walks = error == ENOSYS || error == EPERM;
    if (root >= 0) {
        close(root);
    }
    if (directory == NULL || (error != 0 && !paths->walks)) {
        return paths->walks ? 0 : error;
    }
    char real[PATH_BYTES];
    error = paths_real(paths, real, directory);
    error = error == 0 ? open_directory(paths, &root, real, true) : error;
    if (error == 0) {
        close(root);
        memcpy(paths->directory, real, PATH_BYTES);
    }
    return error;
}

int paths_begin(struct paths *paths, const char *jail, const char *directory)
{
    paths->jail = -1;
    if (jail != NULL) {
        return begin_jail(paths, jail, directory);
    }
    if (directory != NULL && chdir(directory) != 0) {
        return errno;
    }
    return getcwd(paths->directory, PATH_BYTES) != NULL ? 0 : errno;
}
