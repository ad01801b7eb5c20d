/*
 * oom_score_adj (proc(5)): which processes the kernel ends first when memory runs out.
 */
#ifndef WREN_OOM_H
#define WREN_OOM_H

#include <sys/types.h>

/* A number from -1000 to 1000 with its newline and a NUL. */
#define OOM_SCORE_BYTES 8

struct oom {
    int fd; /* this process's oom_score_adj; -1 if oom_raise() has not changed it */
    char before[OOM_SCORE_BYTES];
};

/*
 * Raises the score of this process and its later children to LIMIT_OOM_SCORE. Changes nothing
 * without /proc, or if the score is as high already. The descriptor has a number of at least
 * `least_fd`; it stays open because a process that is not dumpable cannot open it again, unless it
 * is root's.
 */
void oom_raise(struct oom *oom, int least_fd);

/* Restores the score before oom_raise(), and closes the descriptor. Also restores that of `other`,
 * a process that was forked since, which only root may do. */
void oom_restore(struct oom *oom, pid_t other);

#endif
