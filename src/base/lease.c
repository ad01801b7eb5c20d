#include "base.h"

#include <fcntl.h>
#include <poll.h>

bool lease_wait(int error, unsigned *waits)
{
    if (error != EWOULDBLOCK || ++*waits > LIMIT_LEASE_WAITS) {
        return false;
    }
    poll(NULL, 0, LIMIT_LEASE_WAIT_MS);
    return true;
}

int lease_openat(int directory, const char *path, int flags, mode_t mode)
{
    unsigned waits = 0;
    int fd;
    do {
        fd = openat(directory, path, flags, mode);
    } while (fd < 0 && lease_wait(errno, &waits));
    return fd;
}

int lease_open(int directory, const char *path)
{
    return lease_openat(directory, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
}
