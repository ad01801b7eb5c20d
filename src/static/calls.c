/*
 * What a static build puts in the place of libc's ioctl(), getsockopt() and recvmsg() (the option
 * plain_calls): the kernel's calls and no more. On 32-bit architectures musl's turn times of 64
 * bits into the older ones where the kernel is older. None of ours asks for a time: terminals,
 * errors, addresses, credentials and TCP_INFO; and descriptors are all that messages bring along.
 * On 64-bit architectures the caller has set the gaps of a struct msghdr to zero: no part of it
 * is left out.
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
