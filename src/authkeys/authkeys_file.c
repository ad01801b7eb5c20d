/* The part of authkeys.h that opens files: the administrator's and, as the user, the user's. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "authkeys.h"

/* Linux's PATH_MAX: realpath(3) may write so many. */
#define RESOLVED_BYTES 4096

/* `path` is that of the user's file, or of a directory above it. */
static void refuse_users(struct authkeys_files *files, enum authkeys_reason reason,
                         const char *path)
{
    files->users.reason = reason;
    if (path != files->users_path) {
        snprintf(files->users_path, sizeof(files->users_path), "%.*s", LIMIT_PATH_BYTES - 1, path);
    }
}

static void refuse_by_error(struct authkeys_files *files, const char *path)
{
    files->users.error = errno;
    bool missing = errno == ENOENT || errno == ENOTDIR;
    refuse_users(files, missing ? AUTHKEYS_MISSING : AUTHKEYS_UNREADABLE, path);
}

/* ---- the path -------------------------------------------------------------------------------- */

struct path {
    size_t used;
    bool failed;
    char *bytes; /* LIMIT_PATH_BYTES */
};

static void append_text(struct path *path, const char *text, size_t count)
{
    if (path->failed || count >= LIMIT_PATH_BYTES - path->used) {
        path->failed = true;
        return;
    }
    memcpy(path->bytes + path->used, text, count);
    path->used += count;
    path->bytes[path->used] = '\0';
}

static void append_expanded(struct path *path, char letter, const struct account *account)
{
    switch (letter) {
    case 'u':
        append_text(path, account->user, strlen(account->user));
        break;
    case 'h':
        append_text(path, account->home, strlen(account->home));
        break;
    case '%':
        append_text(path, "%", 1);
        break;
    default:
        path->failed = true;
    }
}

bool authkeys_expand(char out[static LIMIT_PATH_BYTES], const char *pattern,
                     const struct account *account)
{
    struct path path = {.bytes = out};
    out[0] = '\0';
    if (pattern == NULL) {
        pattern = "%h/.ssh/authorized_keys";
    } else if (pattern[0] != '/' && strncmp(pattern, "%h", 2) != 0) {
        append_text(&path, account->home, strlen(account->home));
        append_text(&path, "/", 1);
    }
    /* A "%" at the end fails on the NUL that follows it: nothing is read past that. */
    for (const char *at = pattern; !path.failed && *at != '\0'; at++) {
        if (*at == '%') {
            at++;
            append_expanded(&path, *at, account);
        } else {
            append_text(&path, at, 1);
        }
    }
    return !path.failed;
}

/* ---- StrictModes ----------------------------------------------------------------------------- */

static bool is_safe(struct authkeys_files *files, const char *path, const struct stat *found,
                    uid_t user)
{
    files->users.owner = found->st_uid;
    files->users.mode = found->st_mode & 07777;
    if (found->st_uid != 0 && found->st_uid != user) {
        refuse_users(files, AUTHKEYS_UNSAFE_OWNER, path);
        return false;
    }
    if ((found->st_mode & 022) != 0) {
        refuse_users(files, AUTHKEYS_UNSAFE_MODE, path);
        return false;
    }
    return true;
}

/* Cuts the last component off: "/a/b" becomes "/a", "/a" becomes "/". False at the root. */
static bool go_up(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL || path[1] == '\0') {
        return false;
    }
    slash[slash == path ? 1 : 0] = '\0';
    return true;
}

/* `path` is the file's, without symbolic links; it is used up. */
static bool are_directories_safe(struct authkeys_files *files, char *path,
                                 const struct account *account)
{
    char home[RESOLVED_BYTES];
    struct stat found;
    if (realpath(account->home, home) == NULL) {
        home[0] = '\0';
    }
    while (go_up(path)) {
        if (stat(path, &found) != 0) {
            refuse_by_error(files, path);
            return false;
        }
        if (!is_safe(files, path, &found, account->uid)) {
            return false;
        }
        if (strcmp(path, home) == 0) {
            break;
        }
    }
    return true;
}

static bool is_same_file(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* Writes the path of the open file without symbolic links, and what is there. The kernel knows the
 * path of what it has opened, which takes one call. Without /proc, or if the file has moved
 * meanwhile, `path` is resolved. */
static bool find_real(char real[static RESOLVED_BYTES], struct stat *named, int fd,
                      const char *path, const struct stat *opened)
{
    char link[32];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t bytes = readlink(link, real, RESOLVED_BYTES - 1);
    real[bytes > 0 ? bytes : 0] = '\0';
    return (real[0] == '/' && stat(real, named) == 0 && is_same_file(named, opened)) ||
           (realpath(path, real) != NULL && stat(real, named) == 0);
}

static bool is_file_safe(struct authkeys_files *files, int fd, const char *path,
                         const struct account *account)
{
    char real[RESOLVED_BYTES];
    struct stat opened;
    struct stat named;
    if (fstat(fd, &opened) != 0) {
        refuse_by_error(files, path);
        return false;
    }
    if (!S_ISREG(opened.st_mode)) {
        refuse_users(files, AUTHKEYS_NOT_REGULAR, path);
        return false;
    }
    if (!find_real(real, &named, fd, path, &opened)) {
        refuse_by_error(files, path);
        return false;
    }
    /* The name must still lead to what we hold: its directories are judged by it. */
    if (!is_same_file(&named, &opened)) {
        errno = ESTALE;
        refuse_by_error(files, path);
        return false;
    }
    return is_safe(files, real, &opened, account->uid) &&
           are_directories_safe(files, real, account);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int open_plainly(const char *path)
{
    return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

struct authkeys_file authkeys_open_admins(const char *path)
{
    struct authkeys_file file = {.path = path, .fd = -1, .reason = AUTHKEYS_UNREADABLE};
    struct stat found;
    if (path == NULL) {
        return file;
    }
    file.fd = open_plainly(path);
    if (file.fd < 0 || fstat(file.fd, &found) != 0) {
        file.error = errno;
        return file;
    }
    file.reason = AUTHKEYS_LISTED;
    file.owner = found.st_uid;
    file.mode = found.st_mode & 07777;
    if (!S_ISREG(found.st_mode)) {
        file.reason = AUTHKEYS_NOT_REGULAR;
    } else if (found.st_uid != 0 && found.st_uid != geteuid()) {
        file.reason = AUTHKEYS_UNSAFE_OWNER;
    } else if ((found.st_mode & 022) != 0) {
        file.reason = AUTHKEYS_UNSAFE_MODE;
    }
    if (file.reason != AUTHKEYS_LISTED) {
        close(file.fd);
        file.fd = -1;
    }
    return file;
}

void authkeys_open_users(struct authkeys_files *files, const char *pattern,
                         const struct account *account)
{
    const char *path = files->users_path;
    files->users = (struct authkeys_file){.path = path, .fd = -1};
    if (!authkeys_expand(files->users_path, pattern, account)) {
        refuse_users(files, AUTHKEYS_BAD_PATTERN, pattern != NULL ? pattern : path);
        return;
    }
    int fd = open_plainly(path);
    if (fd < 0) {
        refuse_by_error(files, path);
    } else if (is_file_safe(files, fd, path, account)) {
        files->users.fd = fd;
    } else {
        close(fd);
    }
}
