/*
 * System calls of a static build, instead of musl's functions (the option plain_calls). They make
 * the call and nothing else.
 *
 * musl's ioctl(), getsockopt() and recvmsg() also convert 64-bit times on 32-bit architectures with
 * old kernels. We need no times: only terminals, errors, addresses, credentials and TCP_INFO, and
 * messages that carry descriptors. musl's struct msghdr has padding on 64-bit architectures, which
 * must be zero: our callers initialize the whole struct.
 *
 * musl's open() and fcntl() set FD_CLOEXEC once more, for kernels before 2.6.23. Its fork() and
 * _Fork() block all signals, lock what threads may hold, and learn the child's thread number: our
 * processes have one thread each. Only raise() and abort() use that number. It is the parent's in a
 * child of our fork(), so that abort() does not use it here, and nothing calls raise().
 */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef SYS_fcntl64
#define FCNTL SYS_fcntl64
#else
#define FCNTL SYS_fcntl
#endif

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

/* The commands that we use take an int, or a pointer that fits a long. */
int fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    long argument = va_arg(arguments, long);
    va_end(arguments);
    return (int)syscall(FCNTL, fd, command, argument);
}

pid_t fork(void)
{
#ifdef SYS_fork
    return (pid_t)syscall(SYS_fork);
#else
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

/* As musl's, if SIGABRT has no handler: the kernel ends the process by a signal. */
__attribute__((noreturn)) void abort(void)
{
    __builtin_trap();
}

int ioctl(int fd, int request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return (int)syscall(SYS_ioctl, fd, request, argument);
}

int getsockopt(int fd, int level, int option, void *restrict value, socklen_t *restrict bytes)
{
    return (int)syscall(SYS_getsockopt, fd, level, option, value, bytes);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    return syscall(SYS_recvmsg, fd, message, flags);
}
