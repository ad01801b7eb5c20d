#include "child.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

/* What any architecture wants of a stack's address. */
#define STACK_ALIGNMENT 64

pid_t child_start(int (*become)(void *), void *argument, size_t stack_bytes)
{
    size_t bytes = (stack_bytes + STACK_ALIGNMENT - 1) / STACK_ALIGNMENT * STACK_ALIGNMENT;
    char *stack =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) {
        return -1;
    }
    pid_t pid = clone(become, stack + bytes, CLONE_VM | CLONE_VFORK | SIGCHLD, argument);
    int error = errno;
    munmap(stack, bytes);
    errno = error;
    return pid;
}
