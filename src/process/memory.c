#include "process.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/mman.h>

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

/* ---- the kernel out of memory ---------------------------------------------------------------- */

/* number_parse() refuses a negative score. */
static bool is_high(const char *score)
{
    uint64_t value;
    return number_parse(&value, score, strcspn(score, "\n"), 1000) && value >= LIMIT_OOM_SCORE;
}

static bool write_score(int fd, const char *score)
{
    return pwrite(fd, score, strlen(score), 0) > 0;
}

static int open_above(const char *path, int least_fd)
{
    int fd = openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fd >= least_fd) {
        return fd;
    }
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, least_fd);
    close(fd);
    return moved;
}

void oom_raise(struct oom *oom, int least_fd)
{
    char high[OOM_SCORE_BYTES];
    oom->fd = open_above("/proc/self/oom_score_adj", least_fd);
    ssize_t bytes = oom->fd >= 0 ? pread(oom->fd, oom->before, sizeof(oom->before) - 1, 0) : -1;
    oom->before[bytes > 0 ? bytes : 0] = '\0';
    snprintf(high, sizeof(high), "%d\n", LIMIT_OOM_SCORE);
    if (bytes > 0 && !is_high(oom->before) && write_score(oom->fd, high)) {
        return;
    }
    descriptors_close_one(&oom->fd);
}

void oom_restore(struct oom *oom, pid_t other)
{
    char path[48];
    if (oom->fd < 0) {
        return;
    }
    write_score(oom->fd, oom->before);
    descriptors_close_one(&oom->fd);
    snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)other);
    int fd = openat(AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        write_score(fd, oom->before);
        close(fd);
    }
}
