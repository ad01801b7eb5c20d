#include "process.h"

#include <fcntl.h>
#include <sys/signalfd.h>

/* More would take seconds. RLIMIT_NOFILE is no help: a descriptor may be above a limit that was
 * lowered after it was opened. */
#define MOST_DESCRIPTORS 65536

void descriptors_close_one(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

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

/* Kernels before 5.9 and emulators lack close_range(). There /proc names the descriptors. Some may
 * be left without /proc, after a read error, or if the directory does not even name the descriptor
 * by which it is read. */
void descriptors_close_from(int first)
{
    struct closing closing = {.first = first};
    if (syscall(CALL_CLOSE_RANGE, (unsigned)first, ~0U, 0U) != 0 &&
        !(dirs_numbers("/proc/self/fd", close_one, &closing) && closing.itself)) {
        descriptors_close_between(first, MOST_DESCRIPTORS - 1);
    }
}

void descriptors_close_between(int first, int last)
{
    if (syscall(CALL_CLOSE_RANGE, (unsigned)first, (unsigned)last, 0U) != 0) {
        for (int fd = first; fd <= last; fd++) {
            close(fd);
        }
    }
}

void signals_unblock(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void signals_reset(void)
{
    sigset_t held;
    for (int number = 1; number < NSIG; number++) {
        signal(number, number == SIGPIPE || number == SIGXFSZ ? SIG_IGN : SIG_DFL);
    }
    sigemptyset(&held);
    sigaddset(&held, SIGUSR1);
    sigprocmask(SIG_SETMASK, &held, NULL);
}

void signals_hand_on(void)
{
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    signals_unblock();
}

int signals_watch(bool with_ending)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    if (with_ending) {
        sigaddset(&blocked, SIGTERM);
        sigaddset(&blocked, SIGINT);
        sigaddset(&blocked, SIGHUP);
        sigaddset(&blocked, SIGUSR1);
    }
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    return signalfd(-1, &blocked, SFD_NONBLOCK | SFD_CLOEXEC);
}

bool signals_ending_wait(void)
{
    sigset_t waiting;
    sigemptyset(&waiting);
    sigpending(&waiting);
    return sigismember(&waiting, SIGTERM) == 1 || sigismember(&waiting, SIGINT) == 1 ||
           sigismember(&waiting, SIGHUP) == 1 || sigismember(&waiting, SIGUSR1) == 1;
}

/* ---- numbers in a directory of /proc --------------------------------------------------------- */

bool dirs_numbers(const char *path, dirs_visit *visit, void *context)
{
    _Alignas(struct dirs_entry) char piece[1024];
    const struct dirs_entry *entry;
    unsigned number;
    long bytes;
    int list = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (list < 0) {
        return false;
    }
    while ((bytes = syscall(SYS_getdents64, list, piece, sizeof(piece))) > 0) {
        for (long at = 0; at < bytes; at += entry->bytes) {
            entry = (const struct dirs_entry *)(const void *)(piece + at);
            if (number_read(&number, entry->name)) {
                visit(context, list, (int)number);
            }
        }
    }
    close(list);
    return bytes == 0;
}
