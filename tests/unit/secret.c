/* For process/memory.c: secrets. */
#include "process.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#define BYTES 5000 /* more than one page */

#define WIPE_ON_FORK 18

/* As kernels since 4.14, as those before, and as qemu before 8.0. */
static enum { WIPES, REFUSES, PRETENDS } wiping;

/* In the place of libc's. */
int madvise(void *start, size_t bytes, int advice)
{
    if (wiping != WIPES && advice == WIPE_ON_FORK) {
        errno = EINVAL;
        return wiping == PRETENDS ? 0 : -1;
    }
    return (int)syscall(SYS_madvise, start, bytes, advice);
}

/* The flags of the mapping at `address`; "" if there is none, or the kernel does not say. */
static void find_flags(char flags[static 256], const void *address)
{
    char line[512];
    bool here = false;
    FILE *file = fopen("/proc/self/smaps", "r");
    flags[0] = '\0';
    if (file == NULL) {
        return;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        unsigned long first, end;
        if (sscanf(line, "%lx-%lx ", &first, &end) == 2) {
            here = (uintptr_t)address >= first && (uintptr_t)address < end;
        } else if (here && strncmp(line, "VmFlags:", 8) == 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(flags, 256, "%.250s ", line + 8);
        }
    }
    fclose(file);
}

static bool has(const char *flags, const char *flag)
{
    return strstr(flags, flag) != NULL;
}

TEST(memory_is_zeroed_and_ones_own)
{
    uint8_t *one = secret_new(BYTES);
    uint8_t *other = secret_new(1);
    ck_assert(one != NULL && other != NULL);
    ck_assert_uint_eq((uintptr_t)one % (uintptr_t)sysconf(_SC_PAGESIZE), 0);
    ck_assert_uint_eq((uintptr_t)other % (uintptr_t)sysconf(_SC_PAGESIZE), 0);
    for (size_t i = 0; i < BYTES; i++) {
        ck_assert_uint_eq(one[i], 0);
    }
    memset(one, 'x', BYTES);
    ck_assert_uint_eq(other[0], 0);
}

TEST(memory_is_not_dumped_and_wiped_in_forks)
{
    char flags[256];
    void *secret = secret_new(BYTES);
    find_flags(flags, secret);
    if (flags[0] == '\0' || unit_is_emulated()) {
        return;
    }
    ck_assert_msg(has(flags, " dd "), "%s", flags);
    /* Where the kernel has it: a mapping of our own shows whether it does. */
    void *probe = mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool wipes = madvise(probe, 1, WIPE_ON_FORK) == 0;
    ck_assert_msg(has(flags, " wf ") == wipes, "%s", flags);
    /* Where a limit does not forbid it. */
    char probes[256] = "";
    void *locked = mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
    find_flags(probes, locked);
    ck_assert_msg(has(flags, " lo ") == has(probes, " lo "), "%s", flags);
}

/* Without the right to lock memory, the mapping is made unlocked. */
TEST(memory_that_can_not_be_locked)
{
    const struct rlimit none = {0, 0};
    int status;
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_MEMLOCK, &none);
        if (geteuid() == 0 && setuid(65534) != 0) {
            _exit(1);
        }
        char *secret = secret_new(BYTES);
        _exit(secret != NULL && secret[BYTES - 1] == '\0' ? 0 : 2);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

TEST(a_fork_sees_zeros)
{
    uint8_t *secret = secret_new(BYTES);
    void *probe = mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int status;
    memset(secret, 0x5a, BYTES);
    if (unit_is_emulated() || madvise(probe, 1, WIPE_ON_FORK) != 0) {
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        unsigned sum = 0;
        for (size_t i = 0; i < BYTES; i++) {
            sum += secret[i];
        }
        _exit(sum == 0 ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(secret[BYTES - 1], 0x5a);
}

static bool is_mapped(void *address)
{
    return msync(address, 1, MS_ASYNC) == 0 || errno != ENOMEM;
}

/* Where the kernel does not wipe, nothing stays mapped; else the child sees zeros. */
TEST_EACH(a_fork_abandons_its_own, 3)
{
    if (unit_is_emulated()) {
        return; /* a 32-bit program's whole address space is mapped there */
    }
    wiping = _i == 0 ? WIPES : _i == 1 ? REFUSES : PRETENDS;
    uint8_t *secret = secret_new(BYTES);
    int status;
    memset(secret, 0x5a, BYTES);
    pid_t child = fork();
    if (child == 0) {
        secret_abandon(secret, BYTES);
        bool gone = !is_mapped(secret) && !is_mapped(secret + 4096);
        _exit(gone || (wiping == WIPES && secret[0] == 0 && secret[BYTES - 1] == 0) ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(secret[0], 0x5a);
    ck_assert_uint_eq(secret[BYTES - 1], 0x5a);
}

TEST(no_memory_left)
{
    ck_assert_ptr_null(secret_new(SIZE_MAX / 2));
    ck_assert_int_eq(errno, ENOMEM);
}
