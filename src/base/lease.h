/*
 * Files with a lease (fcntl(2)): a file server such as Samba or the kernel's NFS server is asked
 * before others open them. open(2) asks and waits, but it would also wait for a FIFO or a device
 * that somebody has put in the file's place. With O_NONBLOCK it never waits: it asks and fails with
 * EWOULDBLOCK. So these functions try again until the server gives up the lease.
 */
#ifndef WREN_LEASE_H
#define WREN_LEASE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Waits a little, and returns true, if an open with O_NONBLOCK that has failed with `error` should
 * be tried again. `waits` counts, from 0. */
bool lease_wait(int error, unsigned *waits);

/* openat(2); `flags` hold O_NONBLOCK. */
int lease_openat(int directory, const char *path, int flags, mode_t mode);

/* Opens a file for reading, close-on-exec and non-blocking. */
int lease_open(int directory, const char *path);

/* True if both are of one file. */
static inline bool lease_is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

#endif
