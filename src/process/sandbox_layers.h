/*
 * The layers of a sandbox. net/sandbox.c enters those of the network process; the monitor checks
 * that the required ones are in force, and logs them. wrensshd-sftp enters those that need no root.
 */
#ifndef WREN_SANDBOX_LAYERS_H
#define WREN_SANDBOX_LAYERS_H

#include <stdint.h>

enum sandbox_layer {
    SANDBOX_ROOT = 1 << 0,   /* chroot into a directory that was removed */
    SANDBOX_UID = 1 << 1,    /* own uid and gid, real, effective and saved */
    SANDBOX_GROUPS = 1 << 2, /* no supplementary groups */
    SANDBOX_NO_NEW_PRIVS = 1 << 3,
    SANDBOX_NOT_DUMPABLE = 1 << 4,
    SANDBOX_RLIMITS = 1 << 5,  /* no file growth, processes or core dumps; few descriptors */
    SANDBOX_LANDLOCK = 1 << 6, /* no access to files, if the kernel has Landlock */
    SANDBOX_SECCOMP = 1 << 7,  /* any system call that is not listed kills the process */
};

/* The required layers: all if the daemon starts as root, otherwise those that need no root.
 * Landlock is never required, as seccomp forbids every system call that Landlock would check. */
#define SANDBOX_REQUIRED_AS_ROOT                                                                   \
    (SANDBOX_ROOT | SANDBOX_UID | SANDBOX_GROUPS | SANDBOX_REQUIRED_AS_USER)
#define SANDBOX_REQUIRED_AS_USER                                                                   \
    (SANDBOX_NO_NEW_PRIVS | SANDBOX_NOT_DUMPABLE | SANDBOX_RLIMITS | SANDBOX_SECCOMP)

/* All names with their commas, and a NUL. */
#define SANDBOX_NAMES_BYTES 96

/* Writes the names of these layers, separated by commas, or "none". */
void sandbox_layers_name(char out[static SANDBOX_NAMES_BYTES], uint32_t layers);

#endif
