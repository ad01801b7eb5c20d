/*
 * malloc() and free() of a static build, which replace musl's (the option no_heap). wrensshd
 * allocates no memory. But some functions of musl that it calls would allocate with other
 * arguments, such as realpath(3) without a buffer, so musl's malloc() and 4 KiB of data would be
 * linked.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes);

void *malloc(size_t bytes)
{
    (void)bytes;
    errno = ENOMEM;
    return NULL;
}

void free(void *memory)
{
    (void)memory;
}

/* tzset(3) keeps a copy of a TZ of 32 bytes or more in it, of which only the last one counts.
 * Without a copy it would open the time zone's file again, where no file may be opened. */
void *__libc_malloc(size_t bytes)
{
    static char copy[PATH_MAX + 2];
    return bytes <= sizeof(copy) ? copy : NULL;
}
