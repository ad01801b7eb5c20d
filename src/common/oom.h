/*
 * Which process the kernel ends first when memory runs out (proc(5), oom_score_adj).
 */
#ifndef WREN_OOM_H
#define WREN_OOM_H

#include <sys/types.h>

/* A number from -1000 to 1000 with its newline and a NUL. */
#define OOM_SCORE_BYTES 8

struct oom {
    int fd; /* of this process's score; -1 if it was not raised */
    char before[OOM_SCORE_BYTES];
};

/*
 * Makes this process, and those that it forks, go before others; the descriptor gets a number of
 * at least `least_fd`. The score stays as it is without /proc, and where it is as high already. It
 * is opened now because a process that is not dumpable may not open it, unless it is root's.
 */
void oom_raise(struct oom *oom, int least_fd);

/* Puts back what oom_raise() found, for this process and, which only root may do, for another that
 * was forked since; closes the descriptor. */
void oom_restore(struct oom *oom, pid_t other);

#endif
