#include "pty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* asm-generic/ioctls.h since Linux 4.13. */
#ifndef TIOCGPTPEER
#define TIOCGPTPEER 0x5441
#endif

/* By the master where the kernel has that (Linux 4.13): a name can lead elsewhere, in a container
 * with another /dev/pts. */
static int open_slave(int master, const char *name)
{
    int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    return slave >= 0 ? slave : open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

int pty_open(int *slave, char name[PTY_NAME_BYTES], const struct ipc_pty *request)
{
    char own_name[PTY_NAME_BYTES];
    *slave = -1;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (master < 0) {
        return -1;
    }
    if (grantpt(master) == 0 && unlockpt(master) == 0 &&
        ptsname_r(master, own_name, sizeof(own_name)) == 0) {
        *slave = open_slave(master, own_name);
    }
    if (*slave >= 0 && tcsetattr(*slave, TCSANOW, &request->modes) == 0 &&
        ioctl(*slave, TIOCSWINSZ, &request->size) == 0) {
        memcpy(name, own_name, sizeof(own_name));
        return master;
    }
    int error = errno;
    if (*slave >= 0) {
        close(*slave);
        *slave = -1;
    }
    close(master);
    errno = error;
    return -1;
}
