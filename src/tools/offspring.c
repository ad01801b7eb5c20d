#include "offspring.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* As getdents64(2) writes it; not opendir(), which allocates. */
struct listed {
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

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

/* Children that are dead already are found as well, until waitpid() has taken them. */
static bool kill_children(void)
{
    _Alignas(struct listed) char piece[1024];
    const struct listed *entry;
    const pid_t self = getpid();
    long bytes;
    int list = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool found_self = false;
    while (list >= 0 && (bytes = syscall(SYS_getdents64, list, piece, sizeof(piece))) > 0) {
        for (long at = 0; at < bytes; at += entry->bytes) {
            entry = (const struct listed *)(const void *)(piece + at);
            pid_t pid = (pid_t)strtol(entry->name, NULL, 10);
            found_self = found_self || pid == self;
            if (pid > 1 && parent_of(pid) == self) {
                kill(pid, SIGKILL);
            }
        }
    }
    if (list >= 0) {
        close(list);
    }
    return found_self;
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
