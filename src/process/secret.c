#include "secret.h"

#include <sodium.h>
#include <sys/mman.h>

/* Linux 4.14; older C libraries lack the name. */
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define PRIVATE_MEMORY (MAP_PRIVATE | MAP_ANONYMOUS)

void *secret_new(size_t bytes)
{
    /* Locked if RLIMIT_MEMLOCK allows it. */
    void *secret = mmap(NULL, bytes, PROT_READ | PROT_WRITE, PRIVATE_MEMORY | MAP_LOCKED, -1, 0);
    if (secret == MAP_FAILED) {
        secret = mmap(NULL, bytes, PROT_READ | PROT_WRITE, PRIVATE_MEMORY, -1, 0);
    }
    if (secret == MAP_FAILED) {
        return NULL;
    }
    madvise(secret, bytes, MADV_DONTDUMP);
    madvise(secret, bytes, MADV_WIPEONFORK);
    return secret;
}

void secret_free(void *secret, size_t bytes)
{
    sodium_memzero(secret, bytes);
    munmap(secret, bytes);
}

void secret_abandon(void *secret, size_t bytes)
{
    munmap(secret, bytes);
}
