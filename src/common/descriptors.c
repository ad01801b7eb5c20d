#include "descriptors.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dirs.h"

/* The same number on every architecture; the C library may be older than the kernel. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* More would take seconds. RLIMIT_NOFILE does not tell: a descriptor may be above a limit that was
 * lowered after it was opened. */
#define MOST_DESCRIPTORS 65536

struct closing {
    int first;
    bool itself;
};

static void close_one(void *context, int list, int fd)
{
    struct closing *closing = context;
    if (fd == list) {
        closing->itself = true;
    } else if (fd >= closing->first) {
        close(fd);
    }
}

/* Closes the descriptors that /proc names. Returns false if some may be left: without /proc, after
 * a read error, or if the directory does not even name the descriptor by which it is read. */
static bool close_listed(int first)
{
    struct closing closing = {.first = first};
    return dirs_numbers("/proc/self/fd", close_one, &closing) && closing.itself;
}

/* For kernels before 5.9, and emulators. */
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

/* A closed pipe, or a log file at its size limit, is then an error of write(). */
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

static const int ending[] = {SIGTERM, SIGINT, SIGHUP};

#define ENDING (sizeof(ending) / sizeof(ending[0]))

int signals_watch(bool with_ending)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    for (size_t i = 0; with_ending && i < ENDING; i++) {
        sigaddset(&blocked, ending[i]);
    }
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    return signalfd(-1, &blocked, SFD_NONBLOCK | SFD_CLOEXEC);
}

bool signals_ending_wait(void)
{
    sigset_t waiting;
    bool found = false;
    sigemptyset(&waiting);
    sigpending(&waiting);
    for (size_t i = 0; i < ENDING; i++) {
        found = found || sigismember(&waiting, ending[i]) == 1;
    }
    return found;
}
