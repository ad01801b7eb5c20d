#include "descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same number on every architecture; the C library may be older than the kernel. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* More would take seconds. RLIMIT_NOFILE is no help: a descriptor can be above a limit that was
 * lowered later. */
#define MOST_DESCRIPTORS 65536

/* Returns false if that can't be said of all of them: no /proc, or one that breaks off. */
static bool close_listed(int first)
{
    DIR *open_ones = opendir("/proc/self/fd");
    if (open_ones == NULL) {
        return false;
    }
    const struct dirent *entry;
    bool itself = false;
    errno = 0;
    while ((entry = readdir(open_ones)) != NULL) {
        long fd = strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] != '.' && fd == dirfd(open_ones)) {
            itself = true;
        } else if (entry->d_name[0] != '.' && fd >= first) {
            close((int)fd);
        }
        errno = 0;
    }
    bool whole = errno == 0 && itself;
    closedir(open_ones);
    return whole;
}

/* Kernels before 5.9, and emulators. */
static void close_one_by_one(int first)
{
    if (!close_listed(first)) {
        for (int fd = first; fd < MOST_DESCRIPTORS; fd++) {
            close(fd);
        }
    }
}

void descriptors_close_from(int first)
{
    if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) != 0) {
        close_one_by_one(first);
    }
}

void signals_reset(void)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int number = 1; number < NSIG; number++) {
        sigaction(number, &standard, NULL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}
