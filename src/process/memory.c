#include "memory.h"

#include <sodium.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* More than our deepest calls use: a program's start has 128 KiB of command on the stack. Kernels
 * map nothing else so close below a stack. */
#define STACK_BYTES ((size_t)256 * 1024)

#define PRIVATE_MEMORY (MAP_PRIVATE | MAP_ANONYMOUS)

/* The most that the calls of this file use below their caller's frame. */
#define STACK_IN_USE_BYTES 1024

void memory_give_back(void *start, size_t bytes)
{
    size_t page_bytes = (size_t)getpagesize();
    size_t before = -(uintptr_t)start & (page_bytes - 1);
    size_t whole = bytes > before ? (bytes - before) & -page_bytes : 0;
    if (whole > 0) {
        madvise((uint8_t *)start + before, whole, MADV_DONTNEED);
    }
}

__attribute__((noinline)) void memory_give_back_stack(void)
{
    uint8_t *here = __builtin_frame_address(0);
    /* If less is mapped, the kernel returns that much. */
    memory_give_back(here - STACK_BYTES, STACK_BYTES - STACK_IN_USE_BYTES);
}

/* ---- the connection's memory ----------------------------------------------------------------- */

/* The end of .bss (end(3)). */
extern char end[];

void *memory_beside_data(size_t bytes)
{
    size_t page_bytes = (size_t)getpagesize();
    char *beside = end + (-(uintptr_t)end & (page_bytes - 1)) + page_bytes;
    void *memory = mmap(beside, bytes, PROT_READ | PROT_WRITE, PRIVATE_MEMORY, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    /* An idle session uses a few pages, a huge page takes 2 MiB. Kernels without them refuse. */
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    return memory;
}

/* ---- secrets --------------------------------------------------------------------------------- */

/* Linux 4.14; older C libraries lack the name. */
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

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

void secret_abandon(void *secret, size_t bytes)
{
    /* The result of madvise() is not enough: qemu before 8.0 returns 0 and wipes nothing. */
    if (!sodium_is_zero(secret, bytes)) {
        munmap(secret, bytes);
    }
}
