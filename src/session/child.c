#include "child.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

/* What any architecture wants of a stack's address. */
#define STACK_ALIGNMENT 64

/* For the calls before the exec: some paths and a message each. */
#define STACK_BYTES 65536

struct child {
    int (*become)(void *argument, void *room);
    void *argument;
    void *room;
};

static int run(void *argument)
{
    const struct child *child = argument;
    return child->become(child->argument, child->room);
}

pid_t child_start(int (*become)(void *argument, void *room), void *argument, size_t room_bytes)
{
    size_t bytes =
        (room_bytes + STACK_BYTES + STACK_ALIGNMENT - 1) / STACK_ALIGNMENT * STACK_ALIGNMENT;
    char *room =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (room == MAP_FAILED) {
        return -1;
    }
    struct child child = {.become = become, .argument = argument, .room = room};
    pid_t pid = clone(run, room + bytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
    int error = errno;
    munmap(room, bytes);
    errno = error;
    return pid;
}
