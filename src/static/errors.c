/*
 * strerror() of a static build, instead of libc's (the option small_errors): only the errors that
 * our system calls can have, with the texts of glibc. Others are logged by their number.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Hidden, so that a shared libc and its plugins keep using their own. */
__attribute__((visibility("hidden"))) char *strerror(int number);

#define ERRORS(ERROR)                                                                              \
    ERROR(EPERM, "Operation not permitted")                                                        \
    ERROR(ENOENT, "No such file or directory")                                                     \
    ERROR(EINTR, "Interrupted system call")                                                        \
    ERROR(EIO, "Input/output error")                                                               \
    ERROR(ENXIO, "No such device or address")                                                      \
    ERROR(E2BIG, "Argument list too long")                                                         \
    ERROR(ENOEXEC, "Exec format error")                                                            \
    ERROR(EBADF, "Bad file descriptor")                                                            \
    ERROR(ECHILD, "No child processes")                                                            \
    ERROR(EAGAIN, "Resource temporarily unavailable")                                              \
    ERROR(ENOMEM, "Cannot allocate memory")                                                        \
    ERROR(EACCES, "Permission denied")                                                             \
    ERROR(EFAULT, "Bad address")                                                                   \
    ERROR(EBUSY, "Device or resource busy")                                                        \
    ERROR(EEXIST, "File exists")                                                                   \
    ERROR(EXDEV, "Invalid cross-device link")                                                      \
    ERROR(ENODEV, "No such device")                                                                \
    ERROR(ENOTDIR, "Not a directory")                                                              \
    ERROR(EISDIR, "Is a directory")                                                                \
    ERROR(EINVAL, "Invalid argument")                                                              \
    ERROR(ENFILE, "Too many open files in system")                                                 \
    ERROR(EMFILE, "Too many open files")                                                           \
    ERROR(ETXTBSY, "Text file busy")                                                               \
    ERROR(EFBIG, "File too large")                                                                 \
    ERROR(ENOSPC, "No space left on device")                                                       \
    ERROR(EROFS, "Read-only file system")                                                          \
    ERROR(EMLINK, "Too many links")                                                                \
    ERROR(EPIPE, "Broken pipe")                                                                    \
    ERROR(ENAMETOOLONG, "File name too long")                                                      \
    ERROR(ENOSYS, "Function not implemented")                                                      \
    ERROR(ENOTEMPTY, "Directory not empty")                                                        \
    ERROR(ELOOP, "Too many levels of symbolic links")                                              \
    ERROR(EOVERFLOW, "Value too large for defined data type")                                      \
    ERROR(ENOTSOCK, "Socket operation on non-socket")                                              \
    ERROR(EOPNOTSUPP, "Operation not supported")                                                   \
    ERROR(EAFNOSUPPORT, "Address family not supported by protocol")                                \
    ERROR(EADDRINUSE, "Address already in use")                                                    \
    ERROR(EADDRNOTAVAIL, "Cannot assign requested address")                                        \
    ERROR(ENETUNREACH, "Network is unreachable")                                                   \
    ERROR(ENOBUFS, "No buffer space available")                                                    \
    ERROR(ESTALE, "Stale file handle")                                                             \
    ERROR(EDQUOT, "Disk quota exceeded")

#define NUMBER(number, text) number,
#define TEXT(number, text)   text "\0"

static const unsigned char numbers[] = {ERRORS(NUMBER)};

/* One string, not pointers to many: each pointer would also be relocated at the start. */
static const char texts[] = ERRORS(TEXT);

/* Not for threads: the text of an unknown error is overwritten by the next one. */
char *strerror(int number)
{
    static char unknown[sizeof("error -2147483648")];
    const char *text = texts;
    for (size_t i = 0; i < sizeof(numbers); i++, text += strlen(text) + 1) {
        if (numbers[i] == number) {
            return (char *)(uintptr_t)text; /* the standard has no const here */
        }
    }
    snprintf(unknown, sizeof(unknown), "error %d", number);
    return unknown;
}
