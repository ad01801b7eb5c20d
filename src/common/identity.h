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
 * `wrensshd`, or else `nobody`, of /etc/passwd; without either, as in an initramfs, the kernel's
 * overflow id 65534. Never asks a name service: what one brings into a process would stay there.
 * An entry with root's uid or gid does not count.
 */
struct identity identity_find(void);

#endif
