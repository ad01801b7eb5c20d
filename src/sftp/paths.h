/*
 * The names of a client's files: as the system has them, or inside a jail (-j), where nothing
 * outside of one directory can be named, opened or seen.
 *
 * A jail uses openat2(2) with RESOLVE_IN_ROOT: absolute names, ".." and symbolic links stay inside,
 * however the tree changes meanwhile. Kernels before 5.6 lack it. There paths_real() resolves all
 * links and "..", and each part of the result is opened by itself and may not be a link.
 */
#ifndef WREN_PATHS_H
#define WREN_PATHS_H

#include "base.h"

/* PATH_MAX with the NUL: the most that the kernel takes in one call. */
#define PATH_BYTES 4096

struct paths {
    int jail;                   /* O_PATH of the jail's directory, or -1 without a jail */
    bool walks;                 /* the kernel has no openat2(2) */
    char directory[PATH_BYTES]; /* where relative names start; in a jail as seen from inside */
    char outside[PATH_BYTES];   /* the jail's directory as the system names it */
};

/* A name for the *at() system calls: `name` in `directory`. */
struct found_name {
    int directory; /* AT_FDCWD without a jail */
    int flags;     /* AT_SYMLINK_NOFOLLOW, or 0 */
    const char *name;
    char bytes[PATH_BYTES];
};

/* Each of these returns 0 or an errno. */

/* Opens the jail, or none with NULL, and then the directory where relative names start; NULL is the
 * working directory, and "/" in a jail. */
int paths_begin(struct paths *paths, const char *jail, const char *directory);

/* Finds `path` for a system call that follows a symbolic link at its end, or does not.
 * After success paths_leave() must follow: it returns 0, or the errno if that system call returned
 * less than 0. */
int paths_find(const struct paths *paths, struct found_name *found, const char *path, bool follow);
int paths_leave(struct found_name *found, ssize_t result);

/* Opens a file as open(2) does. *fd is close-on-exec and non-blocking, so that no FIFO or device
 * holds up other requests, and never becomes a controlling terminal. Waits for a lease to end. */
int paths_open(const struct paths *paths, int *fd, const char *path, int flags, mode_t mode);

/* stat(2) or lstat(2). */
int paths_stat(const struct paths *paths, struct stat *status, const char *path, bool follow);

/* lstat(2) of a name in a directory. In a jail a link has the size of the target that READLINK
 * shows, 0 if it shows none. */
int paths_stat_name(const struct paths *paths, struct stat *status, int directory,
                    const char *name);

/* True for the jail's root: its ".." is outside. */
bool paths_is_root(const struct paths *paths, int directory);

/* readlink(2). In a jail EACCES refuses what would show names outside: a target that names the
 * jail's own directory, and the links of proc(5). */
int paths_read_link(const struct paths *paths, char target[static PATH_BYTES], const char *path);

/* Writes the absolute name without ".", ".." and symbolic links. The last part need not exist. A
 * link that paths_read_link() refuses is refused here, too. */
int paths_real(const struct paths *paths, char real[static PATH_BYTES], const char *path);

/* ---- the text of a path, path_text.c: these do not ask the file system ----------------------- */

/* Cuts slashes off the end of an absolute path, and ends it before its last name. Returns that
 * name, which is empty for "/". */
char *path_cut_last(char *path);

/* True for "", "." and "..". */
bool path_is_dots(const char *name);

/* True if an absolute path has all the parts of a directory's path at its start. "/" never
 * matches. */
bool path_begins_with(const char *path, const char *directory);

/* Puts `first` before `rest`, which is empty or begins with a slash. Returns 0 or ENAMETOOLONG. */
int path_prepend(char rest[static PATH_BYTES], const char *first);

/* ---- openat2(2) of Linux 5.6 ----------------------------------------------------------------- */

/* From linux/openat2.h, which a musl toolchain may lack. */
#define RESOLVE_NO_MAGICLINKS 0x02
#define RESOLVE_IN_ROOT       0x10

struct open_how {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
};

_Static_assert(sizeof(struct open_how) == 24, "the kernel's struct open_how");

#endif
