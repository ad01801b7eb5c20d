/*
 * malloc() and free() of a static build, which replace musl's (the option no_heap). wrensshd
 * allocates no memory. But some functions of musl that it calls would allocate with other
 * arguments, such as realpath(3) without a buffer, so musl's malloc() and 4 KiB of data would be
 * linked. 700 bytes of it still are: tzset(3) copies a TZ of 32 bytes or more.
 */
#include <errno.h>
#include <stddef.h>

void *malloc(size_t bytes);
void free(void *memory);

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
