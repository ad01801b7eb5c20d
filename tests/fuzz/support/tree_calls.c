/*
 * The system calls on names: those of wrensshd-sftp's seccomp list.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base.h"
#include "paths.h"
#include "tree_files.h"
#include "tree_nodes.h"

static int directory_of(int fd)
{
    if (fd == AT_FDCWD) {
        return tree.working;
    }
    SIMULATION_CHECK(simulation_fd(fd) != NULL && simulation_fd(fd)->kind == FD_FILE);
    return simulation_fd(fd)->object;
}

/* "/proc/self/fd/N", which stays what the descriptor is. */
static int magic(const char *path)
{
    int fd;
    char end;
    bool is = sscanf(path, "/proc/self/fd/%d%c", &fd, &end) == 1;
    return is && simulation_fd(fd) != NULL ? simulation_fd(fd)->object : -1;
}

static int find(int directory, const char *path, bool keep_last, struct tree_place *place)
{
    struct tree_walk walk = {.root = TREE_ROOT, .keep_last = keep_last};
    int node = keep_last ? -1 : magic(path);
    if (node >= 0) {
        return node;
    }
    place->missing = false;
    return tree_walk(&walk, directory_of(directory), path, place);
}

static void change(void)
{
    SIMULATION_CHECK(!tree_rules.read_only);
}

/* A place for a new name; the call follows no link at its end. */
static int find_new(int directory, const char *path, struct tree_place *place)
{
    change();
    if (find(directory, path, true, place) >= 0) {
        errno = EEXIST;
        return -1;
    }
    return place->missing ? 0 : -1;
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool writes(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
}

static int open_node(int node, int flags)
{
    struct tree_node *found = &tree.nodes[node];
    bool path_only = (flags & O_PATH) != 0;
    errno = 0;
    if (S_ISLNK(found->mode) && !path_only) {
        errno = ELOOP;
    } else if ((flags & O_DIRECTORY) && !S_ISDIR(found->mode)) {
        errno = ENOTDIR;
    } else if (!path_only && S_ISDIR(found->mode) && writes(flags)) {
        errno = EISDIR;
    } else if (simulation_count_fds(FD_FILE) > 200) {
        errno = EMFILE;
    }
    if (errno != 0) {
        return -1;
    }
    if (!path_only && (flags & O_TRUNC) && found->bytes < TREE_FILE) {
        found->bytes = 0;
    }
    return tree_open(node, flags);
}

static int open_with(struct tree_walk *walk, int directory, const char *path, int flags,
                     mode_t mode)
{
    struct tree_place place = {.missing = false};
    bool path_only = (flags & O_PATH) != 0;
    SIMULATION_CHECK(path_only || !tree_rules.read_only || !writes(flags));
    SIMULATION_CHECK((flags & O_CLOEXEC) != 0);
    walk->keep_last = (flags & O_NOFOLLOW) || ((flags & O_CREAT) && (flags & O_EXCL));
    int node = tree_walk(walk, directory_of(directory), path, &place);
    if (node >= 0 && (flags & O_CREAT) && (flags & O_EXCL)) {
        errno = EEXIST;
        return -1;
    }
    if (node < 0 && place.missing && (flags & O_CREAT) && path[strlen(path) - 1] != '/') {
        node = tree_add(place.directory, place.name, S_IFREG | (mode & 0777), "");
    }
    return node >= 0 ? open_node(node, flags) : -1;
}

static int open_at(int directory, const char *path, int flags, mode_t mode)
{
    struct tree_walk walk = {.root = TREE_ROOT};
    return open_with(&walk, directory, path, flags, mode);
}

SIMULATED(int, open, const char *path, int flags, ...)
{
    return simulating ? open_at(AT_FDCWD, path, flags, 0) : __real_open(path, flags, 0600);
}

SIMULATED_64(int, open, const char *path, int flags, ...);

SIMULATED(int, openat, int directory, const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    unsigned mode = va_arg(rest, unsigned);
    va_end(rest);
    return simulating ? open_at(directory, path, flags, mode)
                      : __real_openat(directory, path, flags, mode);
}

SIMULATED_64(int, openat, int directory, const char *path, int flags, ...);

static long open_in_root(int directory, const char *path, const struct open_how *how)
{
    struct tree_walk walk = {.root = directory_of(directory)};
    int flags = (int)how->flags;
    SIMULATION_CHECK((how->resolve & RESOLVE_IN_ROOT) != 0 &&
                     (how->resolve & RESOLVE_NO_MAGICLINKS) != 0);
    if (tree_rules.no_openat2) {
        errno = ENOSYS;
        return -1;
    }
    if ((how->mode != 0 && !(flags & O_CREAT)) || how->mode > 07777) {
        errno = EINVAL;
        return -1;
    }
    return open_with(&walk, directory, path, flags, (mode_t)how->mode);
}

/* ---- looking --------------------------------------------------------------------------------- */

SIMULATED(int, fstatat, int directory, const char *path, struct stat *status, int flags)
{
    struct tree_place place;
    if (!simulating) {
        return __real_fstatat(directory, path, status, flags);
    }
    int node = find(directory, path, (flags & AT_SYMLINK_NOFOLLOW) != 0, &place);
    return node >= 0 ? tree_stat(node, status) : -1;
}

SIMULATED_64(int, fstatat, int directory, const char *path, struct stat *status, int flags);

SIMULATED(ssize_t, readlinkat, int directory, const char *path, char *target, size_t room)
{
    struct tree_place place;
    if (!simulating) {
        return __real_readlinkat(directory, path, target, room);
    }
    int node = find(directory, path, true, &place);
    if (node < 0 || !S_ISLNK(tree.nodes[node].mode)) {
        errno = node < 0 ? errno : EINVAL;
        return -1;
    }
    size_t bytes = strlen(tree.nodes[node].content);
    bytes = bytes < room ? bytes : room;
    memcpy(target, tree.nodes[node].content, bytes);
    return (ssize_t)bytes;
}

SIMULATED(int, chdir, const char *path)
{
    struct tree_place place;
    if (!simulating) {
        return __real_chdir(path);
    }
    int node = find(AT_FDCWD, path, false, &place);
    tree.working = node >= 0 ? node : tree.working;
    return node >= 0 ? 0 : -1;
}

/* ---- changing -------------------------------------------------------------------------------- */

SIMULATED(int, mkdirat, int directory, const char *path, mode_t mode)
{
    struct tree_place place;
    if (!simulating) {
        return __real_mkdirat(directory, path, mode);
    }
    return find_new(directory, path, &place) == 0 &&
                   tree_add(place.directory, place.name, S_IFDIR | (mode & 0777), "") >= 0
               ? 0
               : -1;
}

SIMULATED(int, symlinkat, const char *target, int directory, const char *path)
{
    struct tree_place place;
    if (!simulating) {
        return __real_symlinkat(target, directory, path);
    }
    if (target[0] == '\0') {
        change();
        errno = ENOENT;
        return -1;
    }
    return find_new(directory, path, &place) == 0 &&
                   tree_add(place.directory, place.name, S_IFLNK | 0777, target) >= 0
               ? 0
               : -1;
}

SIMULATED(int, linkat, int directory, const char *path, int to, const char *new, int flags)
{
    struct tree_place place;
    if (!simulating) {
        return __real_linkat(directory, path, to, new, flags);
    }
    change();
    int node = find(directory, path, true, &place);
    if (node < 0 || S_ISDIR(tree.nodes[node].mode)) {
        errno = node < 0 ? errno : EPERM;
        return -1;
    }
    return find_new(to, new, &place) == 0 ? tree_link(place.directory, place.name, node) : -1;
}

static bool is_empty(int directory)
{
    for (int i = 0; i < TREE_NAMES; i++) {
        if (tree.names[i].name[0] != '\0' && tree.names[i].directory == directory) {
            return false;
        }
    }
    return true;
}

/* The name of something that can be taken away. */
static struct tree_name *find_old(int directory, const char *path)
{
    struct tree_place place;
    int node = find(directory, path, true, &place);
    struct tree_name *name = node >= 0 ? tree_find(place.directory, place.name) : NULL;
    errno = node >= 0 ? EBUSY : errno;
    return name != NULL && name->node == node && node != tree.jail ? name : NULL;
}

SIMULATED(int, unlinkat, int directory, const char *path, int flags)
{
    if (!simulating) {
        return __real_unlinkat(directory, path, flags);
    }
    change();
    struct tree_name *name = find_old(directory, path);
    if (name == NULL) {
        return -1;
    }
    bool is_directory = S_ISDIR(tree.nodes[name->node].mode);
    if (is_directory != ((flags & AT_REMOVEDIR) != 0) || (is_directory && !is_empty(name->node))) {
        errno = is_directory ? (flags & AT_REMOVEDIR ? ENOTEMPTY : EISDIR) : ENOTDIR;
        return -1;
    }
    name->name[0] = '\0';
    return 0;
}

static int move(int directory, const char *path, int to, const char *new, bool replace)
{
    struct tree_place place;
    change();
    struct tree_name *name = find_old(directory, path);
    place.missing = false;
    int there = name != NULL ? find(to, new, true, &place) : -1;
    if (name == NULL || (there < 0 && !place.missing)) {
        return -1;
    }
    SIMULATION_CHECK(!tree_rules.never_replace || there < 0 || !replace);
    if (there >= 0 && (!replace || S_ISDIR(tree.nodes[there].mode))) {
        errno = EEXIST;
        return -1;
    }
    if (tree_is_inside(place.directory, name->node)) {
        errno = EINVAL;
        return -1;
    }
    if (there >= 0) {
        tree_find(place.directory, place.name)->name[0] = '\0';
    }
    if (there != name->node || there < 0) {
        strcpy(name->name, place.name);
        name->directory = place.directory;
        if (S_ISDIR(tree.nodes[name->node].mode)) {
            tree.nodes[name->node].parent = place.directory;
        }
    }
    return 0;
}

SIMULATED(int, renameat, int directory, const char *path, int to, const char *new)
{
    return simulating ? move(directory, path, to, new, true)
                      : __real_renameat(directory, path, to, new);
}

static int set_mode(int node, mode_t mode)
{
    change();
    tree.nodes[node].mode = (tree.nodes[node].mode & S_IFMT) | (mode & 07777);
    return 0;
}

SIMULATED(int, fchmodat, int directory, const char *path, mode_t mode, int flags)
{
    struct tree_place place;
    SIMULATION_CHECK(flags == 0);
    int node = find(directory, path, false, &place);
    return node >= 0 ? set_mode(node, mode) : -1;
}

SIMULATED(int, utimensat, int directory, const char *path, const struct timespec *times, int flags)
{
    struct tree_place place;
    int node = find(directory, path, (flags & AT_SYMLINK_NOFOLLOW) != 0, &place);
    return node >= 0 ? tree_set_times(node, times) : -1;
}

SIMULATED(int, fchownat, int directory, const char *path, uid_t uid, gid_t gid, int flags)
{
    struct tree_place place;
    int node = find(directory, path, (flags & AT_SYMLINK_NOFOLLOW) != 0, &place);
    return node >= 0 ? tree_set_owner(node, uid, gid) : -1;
}

/* ---- by number ------------------------------------------------------------------------------- */

/* As many arguments as processors have registers for them. */
SIMULATED(long, syscall, long number, long one, long two, long three, long four, long five)
{
    if (!simulating) {
        return __real_syscall(number, one, two, three, four, five);
    }
    switch (number) {
    case CALL_OPENAT2:
        return open_in_root((int)one, (const char *)two, (const void *)three);
    case SYS_renameat2:
        SIMULATION_CHECK(five == 1);
        return move((int)one, (const char *)two, (int)three, (const char *)four, false);
    case SYS_getdents64:
        return tree_list((int)one, (void *)two, (size_t)three);
    case SYS_prlimit64:
        errno = ENOSYS;
        return -1;
    default:
        simulation_fail("a system call that the list has", __FILE__, __LINE__);
    }
}
