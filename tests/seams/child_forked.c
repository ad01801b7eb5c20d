/* In place of session/child.c, in sanitizer builds: what their runtime notes of a stack that the
 * exec leaves behind would be of our memory, and wrong. */
#include "child.h"

#include <unistd.h>

pid_t child_start(int (*become)(void *), void *argument, size_t stack_bytes)
{
    (void)stack_bytes;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(become(argument));
    }
    return pid;
}
