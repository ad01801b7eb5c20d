#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "number.h"

/* The same number on every architecture; the C library may be older than the kernel. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* More would take seconds. RLIMIT_NOFILE is no help: a descriptor can be above a limit that was
 * lowered later. */
#define MOST_DESCRIPTORS 65536

/* As getdents64(2) writes it; not opendir(), which allocates. */
struct listed {
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

/* Closes what a piece of the list names. True if the list's own descriptor was among it. */
static bool close_piece(const char *piece, long bytes, int list, int first)
{
    bool itself = false;
    const struct listed *entry;
    for (long at = 0; at < bytes; at += entry->bytes) {
        entry = (const struct listed *)(const void *)(piece + at);
        unsigned fd;
        if (!number_read(&fd, entry->name)) {
            continue; /* "." and ".." */
        }
        if (fd == (unsigned)list) {
            itself = true;
        } else if (fd >= (unsigned)first) {
            close((int)fd);
        }
    }
    return itself;
}

/* Returns false if that can't be said of all of them: no /proc, or one that breaks off. */
static bool close_listed(int first)
{
    _Alignas(struct listed) char piece[1024];
    int list = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (list < 0) {
        return false;
    }
    bool itself = false;
    long bytes;
    while ((bytes = syscall(SYS_getdents64, list, piece, sizeof(piece))) > 0) {
        itself = close_piece(piece, bytes, list, first) || itself;
    }
    close(list);
    return bytes == 0 && itself;
}

/* Kernels before 5.9, and emulators. */
static void close_one_by_one(int first)
{
    if (!close_listed(first)) {
        for (int fd = first; fd < MOST_DESCRIPTORS; fd++) {
            close(fd);
        }
    }
}

void descriptors_close_from(int first)
{
    if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) != 0) {
        close_one_by_one(first);
    }
}

/* A closed pipe, or a log that may not grow, is an error of write() and not the end of us. */
static const int ignored[] = {SIGPIPE, SIGXFSZ};

#define IGNORED (sizeof(ignored) / sizeof(ignored[0]))

static void unblock_all(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void signals_reset(void)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) {
        sigaction(number, &standard, NULL);
    }
    for (size_t i = 0; i < IGNORED; i++) {
        signal(ignored[i], SIG_IGN);
    }
    unblock_all();
}

void signals_hand_on(void)
{
    for (size_t i = 0; i < IGNORED; i++) {
        signal(ignored[i], SIG_DFL);
    }
    unblock_all();
}
