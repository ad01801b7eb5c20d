#include "descriptors.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "call_numbers.h"
#include "dirs.h"

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

/* Ignored, a closed pipe, or a log file at its size limit, is an error of write(). */
static void handle_write_errors(void (*handler)(int))
{
    signal(SIGPIPE, handler);
    signal(SIGXFSZ, handler);
}

void signals_unblock(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

#define ALL_SIGNALS UINT64_MAX

#define MASK_DIGITS 16

/* What follows `label` where a line starts with it, or "". */
static const char *after_label(const char *text, const char *label)
{
    size_t bytes = strlen(label);
    while (strncmp(text, label, bytes) != 0) {
        text = strchr(text, '\n');
        if (text == NULL) {
            return "";
        }
        text++;
    }
    return text + bytes;
}

/* The mask after the label. A line that is cut off does not count: of a process with hundreds of
 * groups only the first lines fit into the buffer. */
static uint64_t read_mask(const char *text, const char *label)
{
    uint64_t mask = 0;
    const char *digits = after_label(text, label);
    if (strspn(digits, "0123456789abcdef") != MASK_DIGITS || digits[MASK_DIGITS] != '\n') {
        return ALL_SIGNALS;
    }
    for (size_t i = 0; i < MASK_DIGITS; i++) {
        unsigned digit = (unsigned char)digits[i];
        mask = mask << 4 | (digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return mask;
}

/* Bit N - 1 is set if signal N is ignored or has a handler (proc_pid_status(5)), and all bits are
 * if /proc does not tell. To ask for each signal would be 64 calls. */
static uint64_t find_changed(void)
{
    char text[2048];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    if (bytes < 0) {
        return ALL_SIGNALS;
    }
    text[bytes] = '\0';
    return read_mask(text, "SigIgn:\t") | read_mask(text, "SigCgt:\t");
}

void signals_reset(void)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t held;
    uint64_t found = find_changed();
    for (int number = 1; number < NSIG; number++) {
        if (number > 64 || (found >> (number - 1) & 1) != 0) {
            sigaction(number, &standard, NULL);
        }
    }
    handle_write_errors(SIG_IGN);
    sigemptyset(&held);
    sigaddset(&held, SIGUSR1);
    sigprocmask(SIG_SETMASK, &held, NULL);
}

void signals_hand_on(void)
{
    handle_write_errors(SIG_DFL);
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
