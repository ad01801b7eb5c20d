/* The part of authkeys.h that opens files: the administrator's and, as the user, the user's. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/xattr.h>

#include "authkeys.h"

/* The mode bits that no file and no directory may have. */
#define FORBIDDEN 022

/* Linux's PATH_MAX: realpath(3) may write that many. */
#define RESOLVED_BYTES 4096

/* `path` is that of the user's file, or of a directory above it. */
static bool refuse(struct authkeys_file *file, enum authkeys_reason reason, const char *path)
{
    file->reason = reason;
    if (path != file->name) {
        snprintf(file->name, sizeof(file->name), "%.*s", LIMIT_PATH_BYTES - 1, path);
    }
    return false;
}

static bool refuse_by_error(struct authkeys_file *file, const char *path)
{
    file->error = errno;
    bool missing = errno == ENOENT || errno == ENOTDIR;
    return refuse(file, missing ? AUTHKEYS_MISSING : AUTHKEYS_UNREADABLE, path);
}

bool authkeys_expand(char out[static LIMIT_PATH_BYTES], const char *pattern,
                     const struct account *account)
{
    size_t used = 0;
    const char *at = pattern != NULL ? pattern : "%h/.ssh/authorized_keys";
    if (at[0] != '/' && strncmp(at, "%h", 2) != 0) {
        used = (size_t)snprintf(out, LIMIT_PATH_BYTES, "%s/", account->home);
    }
    return used < LIMIT_PATH_BYTES && expand_path(out + used, LIMIT_PATH_BYTES - used, at,
                                                  account->user, account->home, false) == NULL;
}

/* ---- StrictModes ----------------------------------------------------------------------------- */

/* AUTHKEYS_GOOD for none. */
static enum authkeys_reason find_fault(struct authkeys_file *file, const struct stat *found,
                                       uid_t user, mode_t forbidden)
{
    file->owner = found->st_uid;
    file->mode = found->st_mode & 07777;
    if (found->st_uid != 0 && found->st_uid != user) {
        return AUTHKEYS_UNSAFE_OWNER;
    }
    return (found->st_mode & forbidden) != 0 ? AUTHKEYS_UNSAFE_MODE : AUTHKEYS_GOOD;
}

/* An ACL may let others write, and its mask looks like the group's right. */
static bool has_acl(const char *path)
{
    return getxattr(path, "system.posix_acl_access", NULL, 0) >= 0 ||
           (errno != ENODATA && errno != ENOTSUP);
}

/* Debian's users have a group of their own, and with umask 002 it may write. */
static bool is_safe(struct authkeys_file *file, const char *path, const struct stat *found,
                    const struct account *account)
{
    enum authkeys_reason fault = find_fault(file, found, account->uid, FORBIDDEN);
    bool by_own_group = fault == AUTHKEYS_UNSAFE_MODE && (found->st_mode & 002) == 0 &&
                        found->st_gid == account->gid && !has_acl(path) &&
                        users_group_is_private(account->gid, account->user);
    return fault == AUTHKEYS_GOOD || by_own_group || refuse(file, fault, path);
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

static bool is_below(const char *path, const char *directory)
{
    size_t bytes = strlen(directory);
    return strncmp(path, directory, bytes) == 0 && path[bytes] == '/';
}

/* Up to `home`, or else to the root. Neither path has symbolic links; `path` is overwritten. */
static bool are_directories_safe(struct authkeys_file *file, char *path, const char *home,
                                 const struct account *account)
{
    struct stat found;
    while (go_up(path)) {
        if (stat(path, &found) != 0) {
            return refuse_by_error(file, path);
        }
        if (!is_safe(file, path, &found, account)) {
            return false;
        }
        if (strcmp(path, home) == 0) {
            break;
        }
    }
    return true;
}

/* Own frame: its 4 KiB are needed only if the home has symbolic links. */
__attribute__((noinline)) static bool is_way_safe(struct authkeys_file *file, char *path,
                                                  const struct account *account)
{
    char home[RESOLVED_BYTES];
    if (realpath(account->home, home) == NULL) {
        home[0] = '\0';
    }
    return are_directories_safe(file, path, home, account);
}

/* Writes the path of the open file without symbolic links. The kernel knows the path of what it has
 * opened, which takes one call. Without /proc, or if the file has moved meanwhile, `path` is
 * resolved. It must still lead to the open file, because its directories are checked. */
static bool find_real(char real[static RESOLVED_BYTES], int fd, const char *path,
                      const struct stat *opened)
{
    struct stat named;
    char link[32];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t bytes = readlink(link, real, RESOLVED_BYTES - 1);
    real[bytes > 0 ? bytes : 0] = '\0';
    if (real[0] == '/' && stat(real, &named) == 0 && lease_is_same(&named, opened)) {
        return true;
    }
    if (realpath(path, real) == NULL || stat(real, &named) != 0) {
        return false;
    }
    errno = ESTALE;
    return lease_is_same(&named, opened);
}

static bool is_file_safe(struct authkeys_file *file, int fd, const char *path,
                         const struct account *account)
{
    char real[RESOLVED_BYTES];
    struct stat opened;
    if (fstat(fd, &opened) != 0) {
        return refuse_by_error(file, path);
    }
    if (!S_ISREG(opened.st_mode)) {
        return refuse(file, AUTHKEYS_NOT_REGULAR, path);
    }
    if (!find_real(real, fd, path, &opened)) {
        return refuse_by_error(file, path);
    }
    return is_safe(file, real, &opened, account) &&
           (is_below(real, account->home) ? are_directories_safe(file, real, account->home, account)
                                          : is_way_safe(file, real, account));
}

/* ---- opening --------------------------------------------------------------------------------- */

/* `file` has its path. */
static void open_checked(struct authkeys_file *file, mode_t forbidden)
{
    struct stat found;
    file->fd = lease_open(AT_FDCWD, file->path);
    if (file->fd < 0 || fstat(file->fd, &found) != 0) {
        file->error = errno;
        return;
    }
    file->reason = S_ISREG(found.st_mode) ? find_fault(file, &found, geteuid(), forbidden)
                                          : AUTHKEYS_NOT_REGULAR;
    if (file->reason != AUTHKEYS_GOOD) {
        close(file->fd);
        file->fd = -1;
    }
}

static void open_credential(struct authkeys_file *file, const char *name)
{
    if (!credential_path(file->name, sizeof(file->name), name)) {
        file->error = errno;
        return;
    }
    file->path = file->name;
    open_checked(file, CREDENTIAL_FORBIDDEN);
}

static void open_admins(struct authkeys_file *file, const char *path)
{
    const char *credential = path != NULL ? credential_name(path) : NULL;
    file->path = path;
    file->fd = -1;
    file->reason = AUTHKEYS_UNREADABLE;
    file->error = 0;
    file->owner = file->mode = 0;
    if (credential != NULL) {
        open_credential(file, credential);
    } else if (path != NULL) {
        open_checked(file, FORBIDDEN);
    }
}

/* No user's name leads out of the directory: a name with a slash is not valid. */
static void open_users_credential(struct authkeys_file *file, const char *pattern,
                                  const struct account *account)
{
    char name[LIMIT_PATH_BYTES];
    if (expand_path(name, sizeof(name), credential_name(pattern), account->user, account->home,
                    false) != NULL ||
        !credential_is_valid(name)) {
        refuse(file, AUTHKEYS_BAD_PATTERN, pattern);
        return;
    }
    open_credential(file, name);
    if (file->fd < 0 && file->error == ENOENT) {
        file->reason = AUTHKEYS_MISSING;
    }
}

void authkeys_open_admins(struct authkeys_files *files, const struct authkeys_query *query,
                          const struct account *account)
{
    open_admins(&files->authorities, query->ca_path);
    open_admins(&files->revoked, query->revoked_path);
    for (size_t i = 0; i < LIMIT_KEY_FILES; i++) {
        struct authkeys_file *file = &files->users[i];
        open_admins(file, NULL);
        if (query->patterns[i] != NULL && credential_name(query->patterns[i]) != NULL) {
            file->path = query->patterns[i];
            open_users_credential(file, query->patterns[i], account);
        }
    }
}

static void open_users(struct authkeys_file *file, const char *pattern,
                       const struct account *account)
{
    file->path = file->name;
    if (!authkeys_expand(file->name, pattern, account)) {
        refuse(file, AUTHKEYS_BAD_PATTERN, pattern != NULL ? pattern : file->name);
        return;
    }
    int fd = lease_open(AT_FDCWD, file->name);
    if (fd < 0) {
        refuse_by_error(file, file->name);
    } else if (is_file_safe(file, fd, file->name, account)) {
        file->fd = fd;
    } else {
        close(fd);
    }
}

void authkeys_open_users(struct authkeys_files *files, const struct authkeys_query *query,
                         const struct account *account)
{
    bool only_credentials = true;
    size_t count = 0;
    for (; query->patterns[count] != NULL; count++) {
        if (files->users[count].path == NULL) {
            open_users(&files->users[count], query->patterns[count], account);
            only_credentials = false;
        }
    }
    if (only_credentials) {
        open_users(&files->users[count], NULL, account);
    }
}
