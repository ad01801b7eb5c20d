/*
 * The system calls on open files.
 */
#include "tree_files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tree_nodes.h"

static struct {
    int flags;
    off_t offset;
} opened[SIMULATION_FDS];

int tree_open(int node, int flags)
{
    int fd = simulation_open(10, FD_FILE, node);
    opened[fd].flags = flags;
    opened[fd].offset = 0;
    return fd;
}

static struct tree_node *node_of(int fd, bool for_path)
{
    const struct simulated_fd *found = simulation_fd(fd);
    SIMULATION_CHECK(found != NULL && found->kind == FD_FILE);
    errno = EBADF;
    return for_path || !(opened[fd].flags & O_PATH) ? &tree.nodes[found->object] : NULL;
}

/* To be changed through a descriptor that was opened for it. */
static struct tree_node *node_to_change(int fd, bool contents)
{
    SIMULATION_CHECK(!tree_rules.read_only);
    struct tree_node *node = node_of(fd, false);
    return node != NULL && contents && (opened[fd].flags & O_ACCMODE) == O_RDONLY ? NULL : node;
}

/* ---- attributes ------------------------------------------------------------------------------ */

int tree_stat(int node, struct stat *status)
{
    const struct tree_node *found = &tree.nodes[node];
    memset(status, 0, sizeof(*status));
    status->st_dev = 7;
    status->st_ino = (ino_t)node + 1;
    status->st_mode = found->mode;
    status->st_nlink = 1;
    status->st_uid = found->uid;
    status->st_gid = found->gid;
    status->st_size = (off_t)found->bytes;
    status->st_atime = found->accessed;
    status->st_mtime = found->modified;
    return 0;
}

SIMULATED(int, fstat, int fd, struct stat *status)
{
    if (!simulating) {
        return __real_fstat(fd, status);
    }
    node_of(fd, true);
    return tree_stat(simulation_fd(fd)->object, status);
}

SIMULATED_64(int, fstat, int fd, struct stat *status);

int tree_set_times(int node, const struct timespec *times)
{
    SIMULATION_CHECK(!tree_rules.read_only);
    tree.nodes[node].accessed = times[0].tv_sec;
    tree.nodes[node].modified = times[1].tv_sec;
    return 0;
}

int tree_set_owner(int node, uid_t uid, gid_t gid)
{
    SIMULATION_CHECK(!tree_rules.read_only);
    errno = EPERM;
    return uid == tree.nodes[node].uid && gid == tree.nodes[node].gid ? 0 : -1;
}

SIMULATED(int, futimens, int fd, const struct timespec *times)
{
    const struct tree_node *node = node_to_change(fd, false);
    return node != NULL ? tree_set_times((int)(node - tree.nodes), times) : -1;
}

SIMULATED(int, fchmod, int fd, mode_t mode)
{
    struct tree_node *node = node_to_change(fd, false);
    if (node != NULL) {
        node->mode = (node->mode & S_IFMT) | (mode & 07777);
    }
    return node != NULL ? 0 : -1;
}

SIMULATED(int, fchown, int fd, uid_t uid, gid_t gid)
{
    const struct tree_node *node = node_to_change(fd, false);
    return node != NULL ? tree_set_owner((int)(node - tree.nodes), uid, gid) : -1;
}

SIMULATED(int, fstatfs, int fd, struct statfs *status)
{
    node_of(fd, true);
    memset(status, 0, sizeof(*status));
    status->f_bsize = 4096;
    status->f_namelen = 255;
    return 0;
}

SIMULATED_64(int, fstatfs, int fd, struct statfs *status);

SIMULATED(int, fsync, int fd)
{
    return node_of(fd, false) != NULL ? 0 : -1;
}

/* ---- contents -------------------------------------------------------------------------------- */

static ssize_t get(const struct tree_node *node, void *out, size_t bytes, off_t offset)
{
    if (node == NULL || S_ISDIR(node->mode) || offset < 0) {
        errno = node == NULL ? EBADF : offset < 0 ? EINVAL : EISDIR;
        return -1;
    }
    if ((uint64_t)offset >= node->bytes) {
        return 0;
    }
    size_t left = node->bytes - (size_t)offset;
    bytes = bytes < left ? bytes : left;
    if (node->bytes == TREE_BIG) {
        memset(out, 'b', bytes);
    } else {
        memcpy(out, node->content + offset, bytes);
    }
    return (ssize_t)bytes;
}

SIMULATED(ssize_t, pread, int fd, void *out, size_t bytes, off_t offset)
{
    if (!simulating) {
        return __real_pread(fd, out, bytes, offset);
    }
    const struct tree_node *node = node_of(fd, false);
    return get((opened[fd].flags & O_ACCMODE) == O_WRONLY ? NULL : node, out, bytes, offset);
}

SIMULATED_64(ssize_t, pread, int fd, void *out, size_t bytes, off_t offset);

SIMULATED(ssize_t, read, int fd, void *out, size_t bytes)
{
    if (!simulating) {
        return __real_read(fd, out, bytes);
    }
    if (fd == STDIN_FILENO) {
        return client_read(out, bytes);
    }
    ssize_t got = get(node_of(fd, false), out, bytes, opened[fd].offset);
    opened[fd].offset += got > 0 ? got : 0;
    return got;
}

static ssize_t put(int fd, const void *bytes, size_t count, off_t offset)
{
    struct tree_node *node = node_to_change(fd, true);
    if (node == NULL || offset < 0 || node->bytes >= TREE_FILE || offset >= TREE_FILE - 1) {
        errno = node == NULL ? EBADF : offset < 0 ? EINVAL : EFBIG;
        return -1;
    }
    size_t room = (size_t)(TREE_FILE - 1 - offset);
    count = count < room ? count : room;
    if ((size_t)offset > node->bytes) {
        memset(node->content + node->bytes, 0, (size_t)offset - node->bytes);
    }
    memcpy(node->content + offset, bytes, count);
    size_t end = (size_t)offset + count;
    node->bytes = end > node->bytes ? end : node->bytes;
    return (ssize_t)count;
}

SIMULATED(ssize_t, pwrite, int fd, const void *bytes, size_t count, off_t offset)
{
    SIMULATION_CHECK(simulating && !(opened[fd].flags & O_APPEND));
    return put(fd, bytes, count, offset);
}

SIMULATED_64(ssize_t, pwrite, int fd, const void *bytes, size_t count, off_t offset);

SIMULATED(ssize_t, write, int fd, const void *bytes, size_t count)
{
    if (!simulating) {
        return __real_write(fd, bytes, count);
    }
    if (fd == STDOUT_FILENO) {
        return client_write(bytes, count);
    }
    const struct tree_node *node = node_of(fd, false);
    SIMULATION_CHECK((opened[fd].flags & O_APPEND) != 0);
    return put(fd, bytes, count, node != NULL ? (off_t)node->bytes : 0);
}

SIMULATED(int, ftruncate, int fd, off_t size)
{
    if (!simulating) {
        return __real_ftruncate(fd, size);
    }
    struct tree_node *node = node_to_change(fd, true);
    if (node == NULL || size < 0 || size >= TREE_FILE || node->bytes >= TREE_FILE) {
        errno = node == NULL ? EINVAL : EFBIG;
        return -1;
    }
    if ((size_t)size > node->bytes) {
        memset(node->content + node->bytes, 0, (size_t)size - node->bytes);
    }
    node->bytes = (size_t)size;
    return 0;
}

SIMULATED_64(int, ftruncate, int fd, off_t size);

/* ---- places ---------------------------------------------------------------------------------- */

SIMULATED(off_t, lseek, int fd, off_t offset, int whence)
{
    if (!simulating) {
        return __real_lseek(fd, offset, whence);
    }
    SIMULATION_CHECK(whence == SEEK_SET && node_of(fd, false) != NULL);
    opened[fd].offset = offset;
    return offset;
}

SIMULATED_64(off_t, lseek, int fd, off_t offset, int whence);

struct listed {
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

/* The offset counts the entries: ".", "..", then the names. */
long tree_list(int fd, void *out, size_t room)
{
    int directory = simulation_fd(fd)->object;
    size_t used = 0;
    SIMULATION_CHECK(S_ISDIR(tree.nodes[directory].mode));
    for (off_t at = opened[fd].offset; at < TREE_NAMES + 2; at++) {
        const struct tree_name *name = &tree.names[at >= 2 ? at - 2 : 0];
        const char *text = at == 0 ? "." : at == 1 ? ".." : name->name;
        if (text[0] == '\0' || (at >= 2 && name->directory != directory)) {
            continue;
        }
        uint16_t bytes = (uint16_t)((19 + strlen(text) + 1 + 7) & ~7U);
        if (used + bytes > room) {
            break;
        }
        const struct listed entry = {.inode = 1, .next = at + 1, .bytes = bytes};
        memset((char *)out + used, 0, bytes);
        memcpy((char *)out + used, &entry, 19);
        strcpy((char *)out + used + 19, text);
        used += bytes;
        opened[fd].offset = at + 1;
    }
    return (long)used;
}

SIMULATED(int, fchdir, int fd)
{
    tree.working = simulation_fd(fd)->object;
    return 0;
}

SIMULATED(char *, getcwd, char *out, size_t room)
{
    if (!simulating) {
        return __real_getcwd(out, room);
    }
    strcpy(out, tree.working == tree.jail    ? TREE_JAIL
                : tree.working == tree.moved ? TREE_JAIL "/d"
                                             : "/");
    return out;
}

SIMULATED(int, poll, struct pollfd *waiting, nfds_t count, int timeout)
{
    if (!simulating) {
        return __real_poll(waiting, count, timeout);
    }
    int ready = 0;
    for (nfds_t i = 0; i < count; i++) {
        bool gone = waiting[i].fd == STDOUT_FILENO && client_has_gone();
        waiting[i].revents = gone ? POLLERR : waiting[i].fd == STDIN_FILENO ? POLLIN : 0;
        ready += waiting[i].revents != 0;
    }
    return ready;
}
