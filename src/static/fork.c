/*
 * fork() and abort() of a static build, which replace musl's (the option no_heap). musl's fork()
 * takes the library's locks, blocks signals, and notes the child's number: for other threads, for
 * handlers, and for abort(), which sends SIGABRT to that number. wrensshd has one thread and no
 * handler at a fork, and its abort() ends in a trap.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

pid_t fork(void)
{
#ifdef SYS_fork
    return (pid_t)syscall(SYS_fork);
#else
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L);
#endif
}

void abort(void)
{
    __builtin_trap();
}
