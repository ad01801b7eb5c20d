#include "offspring.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"

bool offspring_adopt(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L) == 0;
}

/* The fourth field of /proc/PID/stat; the second, in parentheses, can hold anything. */
static pid_t parent_of(pid_t pid)
{
    char path[32];
    char text[256];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[bytes > 0 ? bytes : 0] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && strlen(name_end) > 4 ? (pid_t)strtol(name_end + 4, NULL, 10) : 0;
}

static void kill_child(void *context, int list, int pid)
{
    bool *seen_self = context;
    (void)list;
    const pid_t self = getpid();
    *seen_self = *seen_self || pid == self;
    if (pid > 1 && parent_of(pid) == self) {
        kill(pid, SIGKILL);
    }
}

/* Children that are dead already are found as well, until waitpid() has taken them. False if there
 * is no /proc. */
static bool kill_children(void)
{
    bool seen_self = false;
    return folder_numbers("/proc", kill_child, &seen_self) && seen_self;
}

bool offspring_end(const int *children, int count)
{
    for (int i = 0; i < count; i++) {
        if (children[i] > 0) {
            kill(children[i], SIGKILL);
        }
    }
    /* One generation after the other: what a killed one leaves has become ours once it can be
     * waited for. */
    for (;;) {
        bool seen = kill_children();
        pid_t taken = waitpid(-1, NULL, seen ? 0 : WNOHANG);
        if (taken < 0 && errno == ECHILD) {
            return true;
        }
        if (taken <= 0 && !seen) {
            return false;
        }
    }
}
