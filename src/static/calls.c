/*
 * ioctl(), getsockopt() and recvmsg() of a static build, instead of musl's (the option
 * plain_calls). They make the system call and nothing else. musl's own also convert 64-bit times on
 * 32-bit architectures with old kernels. We need no times: only terminals, errors, addresses,
 * credentials and TCP_INFO, and messages that carry descriptors. musl's struct msghdr has padding
 * on 64-bit architectures, which must be zero: our callers initialize the whole struct.
 */
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

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
