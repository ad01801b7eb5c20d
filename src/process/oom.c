#include "oom.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "limit.h"
#include "text.h"

/* number_parse() refuses a negative score. */
static bool is_high(const char *score)
{
    uint64_t value;
    return number_parse(&value, score, strcspn(score, "\n"), 1000) && value >= LIMIT_OOM_SCORE;
}

static bool write_score(int fd, const char *score)
{
    return pwrite(fd, score, strlen(score), 0) > 0;
}

static int open_above(const char *path, int least_fd)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fd >= least_fd) {
        return fd;
    }
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, least_fd);
    close(fd);
    return moved;
}

void oom_raise(struct oom *oom, int least_fd)
{
    char high[OOM_SCORE_BYTES];
    oom->fd = open_above("/proc/self/oom_score_adj", least_fd);
    ssize_t bytes = oom->fd >= 0 ? pread(oom->fd, oom->before, sizeof(oom->before) - 1, 0) : -1;
    oom->before[bytes > 0 ? bytes : 0] = '\0';
    snprintf(high, sizeof(high), "%d\n", LIMIT_OOM_SCORE);
    if (bytes > 0 && !is_high(oom->before) && write_score(oom->fd, high)) {
        return;
    }
    if (oom->fd >= 0) {
        close(oom->fd);
        oom->fd = -1;
    }
}

void oom_restore(struct oom *oom, pid_t other)
{
    char path[48];
    if (oom->fd < 0) {
        return;
    }
    write_score(oom->fd, oom->before);
    close(oom->fd);
    oom->fd = -1;
    snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)other);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        write_score(fd, oom->before);
        close(fd);
    }
}
