#include "child.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

/* Enough for the stack pointer of every architecture. */
#define STACK_ALIGNMENT 64

/* For the calls before the exec: their frames hold a few paths and messages. */
#define STACK_BYTES 65536

struct child {
    int (*run)(void *argument, void *memory);
    void *argument;
    void *memory;
};

static int run_child(void *argument)
{
    const struct child *child = argument;
    return child->run(child->argument, child->memory);
}

pid_t child_start(int (*run)(void *argument, void *memory), void *argument, size_t memory_bytes)
{
    size_t bytes =
        (memory_bytes + STACK_BYTES + STACK_ALIGNMENT - 1) / STACK_ALIGNMENT * STACK_ALIGNMENT;
    char *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) {
        return -1;
    }
    struct child child = {.run = run, .argument = argument, .memory = memory};
    pid_t pid = clone(run_child, memory + bytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
    int error = errno;
    munmap(memory, bytes);
    errno = error;
    return pid;
}
