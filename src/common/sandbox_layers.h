/*
 * The layers of the network process's sandbox: net/sandbox.c puts them up, the monitor checks and
 * logs them.
 */
#ifndef WREN_SANDBOX_LAYERS_H
#define WREN_SANDBOX_LAYERS_H

enum sandbox_layer {
    SANDBOX_ROOT = 1 << 0,   /* chroot into a directory that no longer has a name */
    SANDBOX_UID = 1 << 1,    /* own uid and gid, real, effective and saved */
    SANDBOX_GROUPS = 1 << 2, /* no supplementary groups */
    SANDBOX_NO_NEW_PRIVS = 1 << 3,
    SANDBOX_NOT_DUMPABLE = 1 << 4,
    SANDBOX_RLIMITS = 1 << 5,  /* no new files, processes, core dumps; few descriptors */
    SANDBOX_LANDLOCK = 1 << 6, /* no file system access; where the kernel has it */
    SANDBOX_SECCOMP = 1 << 7,  /* system call allow-list that kills */
};

/* What must hold: everything where we start as root; what needs no root otherwise. Landlock is
 * never required: the allow-list already forbids every call it would check. */
#define SANDBOX_REQUIRED_AS_ROOT                                                                   \
    (SANDBOX_ROOT | SANDBOX_UID | SANDBOX_GROUPS | SANDBOX_REQUIRED_AS_USER)
#define SANDBOX_REQUIRED_AS_USER                                                                   \
    (SANDBOX_NO_NEW_PRIVS | SANDBOX_NOT_DUMPABLE | SANDBOX_RLIMITS | SANDBOX_SECCOMP)

#endif
