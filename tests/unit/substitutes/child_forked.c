/* Replaces session/child.c in sanitizer builds. There the child must not share our memory: the
 * sanitizer records the child's stack frames in that memory, and nothing clears these records at
 * the exec. */
#include "session_internal.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

pid_t child_start(int (*run)(void *argument, void *memory), void *argument)
{
    pid_t pid = fork();
    if (pid == 0) {
        void *memory = mmap(NULL, CHILD_MEMORY_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        _exit(memory != MAP_FAILED ? run(argument, memory) : EXIT_FAILURE);
    }
    return pid;
}

void child_give_back(void)
{
}
