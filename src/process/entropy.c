#include "process.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sodium.h>
#include <sys/sysmacros.h>
#include <sys/time.h>

#include "log.h"

/* linux/random.h and devices.txt */
#define NOT_WAITING   1
#define MEMORY_DEVICE 1
#define RANDOM_MINOR  8
#define URANDOM_MINOR 9

#define NO_POOL_YET "the kernel's random pool is not initialized yet"

static enum { UNKNOWN, GETRANDOM, DEVICE, STOPPED } source;
static int device = -1;

/* ---- for libsodium --------------------------------------------------------------------------- */

/* By its number: a C library's function may allocate memory, for which the sandbox kills. */
static ssize_t ask_kernel(void *bytes, size_t count, unsigned flags)
{
    return syscall(SYS_getrandom, bytes, count, flags);
}

static ssize_t ask_source(void *bytes, size_t count)
{
    switch (source) {
    case GETRANDOM:
        return ask_kernel(bytes, count, 0);
    case DEVICE:
        return read(device, bytes, count);
    default:
        errno = ENXIO;
        return -1;
    }
}

/* Not by the log: the network process may not write it. */
__attribute__((noreturn)) static void give_up(void)
{
    static const char text[] = "wrensshd: no random numbers\n";
    ssize_t said = write(STDERR_FILENO, text, sizeof(text) - 1);
    (void)said;
    _exit(ENTROPY_EXIT);
}

static void fill(void *bytes, size_t count)
{
    uint8_t *at = bytes;
    while (count > 0) {
        ssize_t got = ask_source(at, count);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0 || (size_t)got > count) {
            give_up();
        }
        at += got;
        count -= (size_t)got;
    }
}

static const char *name(void)
{
    return "wrensshd";
}

static uint32_t number(void)
{
    uint32_t random;
    fill(&random, sizeof(random));
    return random;
}

static struct randombytes_implementation implementation = {
    .implementation_name = name, .random = number, .buf = fill};

/* ---- getrandom() ----------------------------------------------------------------------------- */

static void wake_up(int signal)
{
    (void)signal;
}

/* Waits in getrandom(): newer kernels then gather randomness themselves. poll() on the device does
 * not make them. */
static bool await_kernel(unsigned seconds)
{
    /* Repeated each second, as the first alarm may come before the call begins. */
    const struct itimerval alarms = {.it_value.tv_sec = (time_t)seconds, .it_interval.tv_sec = 1};
    const struct itimerval none = {.it_value.tv_sec = 0};
    const struct sigaction wakes = {.sa_handler = wake_up};
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    uint8_t byte;
    bool bounded = true;
    if (seconds > 0) {
        sigaction(SIGALRM, &wakes, NULL);
        bounded = setitimer(ITIMER_REAL, &alarms, NULL) == 0;
    }
    bool ready = bounded && ask_kernel(&byte, 1, 0) == 1;
    if (seconds > 0) {
        setitimer(ITIMER_REAL, &none, NULL);
        sigaction(SIGALRM, &standard, NULL);
    }
    if (!ready) {
        log_trouble("random numbers", NULL, NO_POOL_YET);
    }
    return ready;
}

/* ---- the devices ----------------------------------------------------------------------------- */

/* Checks that it is the kernel's device: the bytes of another file may be known to others. */
static int open_device(const char *path, unsigned minor_number)
{
    struct stat found;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        log_trouble("random numbers", path, strerror(errno));
        return -1;
    }
    if (fstat(fd, &found) != 0 || !S_ISCHR(found.st_mode) ||
        found.st_rdev != makedev(MEMORY_DEVICE, minor_number)) {
        log_trouble("random numbers", path, "is not the kernel's device");
        close(fd);
        return -1;
    }
    return fd;
}

/* /dev/urandom of these kernels never waits, not even for the first seed. /dev/random does. */
static bool await_seed(unsigned seconds)
{
    int ready;
    struct pollfd seeded = {.fd = open_device("/dev/random", RANDOM_MINOR), .events = POLLIN};
    if (seeded.fd < 0) {
        return false;
    }
    int timeout_ms = seconds == 0 ? -1 : seconds > INT_MAX / 1000 ? INT_MAX : (int)seconds * 1000;
    do {
        ready = poll(&seeded, 1, timeout_ms);
    } while (ready < 0 && errno == EINTR);
    close(seeded.fd);
    bool good = ready == 1 && (seeded.revents & POLLIN) != 0;
    if (!good) {
        log_trouble("random numbers", "/dev/random", NO_POOL_YET);
    }
    return good;
}

static bool start_device(int descriptor, unsigned seconds)
{
    if (!await_seed(seconds)) {
        return false;
    }
    int fd = open_device("/dev/urandom", URANDOM_MINOR);
    if (fd >= 0 && descriptor >= 0 && fd != descriptor) {
        int placed = dup3(fd, descriptor, O_CLOEXEC);
        if (placed < 0) {
            log_trouble("random numbers", "/dev/urandom", strerror(errno));
        }
        close(fd);
        fd = placed;
    }
    device = fd;
    return fd >= 0;
}

/* ---- the start and the end ------------------------------------------------------------------- */

bool entropy_start(int descriptor, unsigned seconds)
{
    uint8_t byte;
    ssize_t got = ask_kernel(&byte, 1, NOT_WAITING);
    /* ENOSYS: the kernel lacks it. A launcher's filter may return EPERM. The devices are as good.
     */
    bool there = got == 1 || errno == EAGAIN || errno == EINTR;
    bool found = there ? got == 1 || await_kernel(seconds) : start_device(descriptor, seconds);
    if (found) {
        source = there ? GETRANDOM : DEVICE;
        randombytes_set_implementation(&implementation);
    }
    return found;
}

bool entropy_is_descriptor(void)
{
    return source == DEVICE;
}

void entropy_stop(void)
{
    if (source == DEVICE) {
        close(device);
        device = -1;
    }
    source = STOPPED;
}
