/*
 * The heap of a static build (the option no_heap): there is none. Nothing in wrensshd allocates,
 * but functions that it calls could, if they were called otherwise: realpath(3) without a place for
 * its answer. musl's malloc() would be in the program for them, with 4 KiB of its own.
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
