/*
 * Pages of this process: those that are returned to the kernel, those of the connection, and those
 * that hold a secret.
 */
#ifndef WREN_MEMORY_H
#define WREN_MEMORY_H

#include <stddef.h>
#include <sys/types.h>

/* ---- unused pages (madvise(2), MADV_DONTNEED) ------------------------------------------------ */

/* They are returned so that an idle connection does not keep what its busiest moment needed. The
 * memory then reads as zeros, and takes a page again only when it is written to. A secret that was
 * left in it is erased. */

/* Returns the whole pages within [start, start + bytes): of .bss, of the stack, or of a private
 * anonymous mapping. A page that is only partly in the range stays as it is. If the kernel refuses,
 * nothing changes. */
void memory_give_back(void *start, size_t bytes);

/* Returns the pages of the stack below the caller. Only deeper calls need them again. */
void memory_give_back_stack(void);

/* ---- the connection's memory ----------------------------------------------------------------- */

/* Returns zeroed memory that never gets huge pages, or NULL with errno. It lies a page
 * after the static data, if that is free: then both often share a page of the page table, and a
 * write beyond the data meets no memory. */
void *memory_beside_data(size_t bytes);

/* ---- secrets --------------------------------------------------------------------------------- */

/* Memory for a secret of this process: pages of its own that are never swapped out, never in a core
 * dump, and that a forked child does not get. */

/*
 * Returns zeroed memory of `bytes`, rounded up to whole pages, or NULL with errno. The memory lacks
 * a property that the kernel or a limit denies: locking needs space in RLIMIT_MEMLOCK, and zeros
 * for a child need Linux 4.14. So a child must call secret_abandon() in any case.
 */
void *secret_new(size_t bytes);

/* For a forked child: unmaps the memory in the child only, unless the kernel gave it zeros. */
void secret_abandon(void *secret, size_t bytes);

/* ---- the kernel out of memory ---------------------------------------------------------------- */

/*
 * oom_score_adj (proc(5)): which processes the kernel ends first when memory runs out.
 */

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
