/*
 * The unprivileged user that the network process, the monitor after a login and the child that
 * parses keys run as.
 */
#ifndef WREN_IDENTITY_H
#define WREN_IDENTITY_H

#include <sys/types.h>

struct identity {
    uid_t uid;
    gid_t gid;
};

/*
 * Finds the user `wrensshd`, or else `nobody`, in /etc/passwd. If both are missing, as in an
 * initramfs, takes the kernel's overflow id 65534. Never asks a name service: its code and memory
 * would stay in the process. Skips an entry with root's uid or gid.
 */
struct identity identity_find(void);

#endif
