#include "descriptors.h"

#include <dirent.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same number on every architecture; the C library may be older than the kernel. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Without a limit we would close for minutes. */
#define MOST_DESCRIPTORS 65536

static int highest_descriptor(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > MOST_DESCRIPTORS) {
        return MOST_DESCRIPTORS;
    }
    return (int)limit.rlim_cur;
}

/* Kernels before 5.9, and emulators. */
static void close_one_by_one(int first)
{
    DIR *open_ones = opendir("/proc/self/fd");
    if (open_ones == NULL) {
        for (int fd = first; fd < highest_descriptor(); fd++) {
            close(fd);
        }
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(open_ones)) != NULL) {
        long fd = strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] != '.' && fd >= first && fd != dirfd(open_ones)) {
            close((int)fd);
        }
    }
    closedir(open_ones);
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
