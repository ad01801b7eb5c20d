#include "session_internal.h"

#include <sched.h>
#include <signal.h>

/* For the calls before the exec: their frames hold a few paths and messages. */
#define STACK_BYTES 65536

/* Static, so that no program's start costs a mapping and its end. */
static struct {
    char of_caller[CHILD_MEMORY_BYTES];
    char stack[STACK_BYTES];
} memory __attribute__((aligned(4096)));

struct child {
    int (*run)(void *argument, void *memory);
    void *argument;
};

static int run_child(void *argument)
{
    const struct child *child = argument;
    return child->run(child->argument, memory.of_caller);
}

pid_t child_start(int (*run)(void *argument, void *memory), void *argument)
{
    struct child child = {.run = run, .argument = argument};
    return clone(run_child, memory.stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
}

void child_give_back(void)
{
    memory_give_back(&memory, sizeof(memory));
}
