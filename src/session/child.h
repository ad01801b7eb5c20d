/*
 * Starts a child that will execute another program.
 */
#ifndef WREN_CHILD_H
#define WREN_CHILD_H

#include <sys/types.h>

/* For the words and the environment of a program; program.c asserts that they fit. */
#define CHILD_MEMORY_BYTES ((size_t)288 * 1024)

/*
 * Starts a child that calls `run(argument, memory)`, which must end in execve(2) or _exit(2).
 * `memory` is CHILD_MEMORY_BYTES, aligned for any type: zeros, or what the last child left there.
 *
 * Uses clone(2) with CLONE_VM and CLONE_VFORK instead of fork(2): copying the page tables, and the
 * page faults that follow, took a third of the time of starting a program. So until the exec the
 * child shares our memory:
 *
 * - It has its own stack. It may write only to that stack, to `memory` and to errno.
 * - The process must have no signal handlers, because one could run in the child.
 * - Large objects belong in `memory`: in a large stack frame the compiler writes to each page, and
 *   so the kernel would allocate all of them.
 *
 * The parent waits until the exec. If a file system hangs, all sessions of the connection wait; the
 * network process still notices when the client leaves.
 *
 * Returns the child's pid, or -1 with errno.
 */
pid_t child_start(int (*run)(void *argument, void *memory), void *argument);

/* Gives back the pages that children have used. Until then the last program's environment stays in
 * the memory of this process, which is the same user's and not dumpable. */
void child_give_back(void);

#endif
