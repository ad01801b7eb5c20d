/*
 * fork() of a static build, which replaces musl's (the option no_heap). musl's first takes the
 * locks of all parts of the library, so that no other thread holds one in the child, and blocks
 * signals for that. wrensshd has one thread, which holds none: _Fork() does the rest, in musl
 * since 1.2.2.
 */
#include <unistd.h>

pid_t fork(void)
{
    return _Fork();
}
