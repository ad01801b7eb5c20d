/* In place of session/child.c, in sanitizer builds: what their runtime notes of a stack that the
 * exec leaves behind would be of our memory, and wrong. */
#include "child.h"

#include <stdlib.h>
#include <unistd.h>

pid_t child_start(int (*become)(void *argument, void *room), void *argument, size_t room_bytes)
{
    pid_t pid = fork();
    if (pid == 0) {
        void *room = calloc(1, room_bytes);
        _exit(room != NULL ? become(argument, room) : EXIT_FAILURE);
    }
    return pid;
}
