/*
 * Functions of a static build that replace musl's of the same names (the option plain_calls). They
 * make the system call and nothing else: our processes have one thread each, and no kernel is that
 * old.
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

/* Replaces musl's open(), which sets FD_CLOEXEC once more, for kernels before 2.6.23. */
int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

/* Replaces musl's fcntl(), which does so, too. The commands that we use take an int, or a pointer
 * that fits a long. */
int fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    long argument = va_arg(arguments, long);
    va_end(arguments);
    return (int)syscall(FCNTL, fd, command, argument);
}

/* Replaces musl's fork(), which blocks all signals, locks what threads may hold, and learns the
 * child's thread number. Only raise() and abort() use that number: here it would be the parent's.
 */
pid_t fork(void)
{
#ifdef SYS_fork
    return (pid_t)syscall(SYS_fork);
#else
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

/* Replaces musl's abort(). As there, if SIGABRT has no handler: the kernel ends the process by a
 * signal. */
__attribute__((noreturn)) void abort(void)
{
    __builtin_trap();
}

/* Replaces musl's raise(). Only libgcc's divisions by zero call it, on ARMv7. */
int raise(int signal)
{
    (void)signal;
    __builtin_trap();
}

/* Replaces musl's ioctl(), which converts 64-bit times on 32-bit architectures with old kernels.
 * Ours are for terminals alone. */
int ioctl(int fd, int request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    return (int)syscall(SYS_ioctl, fd, request, argument);
}

/* Replaces musl's getsockopt(), which does so, too. Ours ask for errors, credentials and TCP_INFO.
 */
int getsockopt(int fd, int level, int option, void *restrict value, socklen_t *restrict bytes)
{
    return (int)syscall(SYS_getsockopt, fd, level, option, value, bytes);
}

/* Replaces musl's recvmsg(), which does so, too; ours carry descriptors. On 64-bit architectures
 * struct msghdr has padding, which must be zero: our callers initialize the whole struct. */
ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    return syscall(SYS_recvmsg, fd, message, flags);
}
