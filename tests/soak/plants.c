/*
 * Leaks for `sh tests/soak/run.sh --self-check`, loaded into the daemon and its launcher.
 * WREN_PLANT names one, or `all`: then each connection has one at most.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* One connection in so many has a leak of each kind, by the number of its first process. */
#define ONE_IN     100
#define LEAK_BYTES 256

static const char *plant = "";

static int is_planted(const char *name)
{
    return strcmp(plant, name) == 0 || strcmp(plant, "all") == 0;
}

/* ---- in the launcher ------------------------------------------------------------------------- */

int accept(int fd, struct sockaddr *address, socklen_t *bytes)
{
    static unsigned count;
    int (*real)(int, struct sockaddr *, socklen_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "accept");
    int made = real(fd, address, bytes);
    if (made >= 0 && is_planted("descriptor") && ++count % ONE_IN == 0) {
        fcntl(made, F_DUPFD_CLOEXEC, 0);
    }
    if (made >= 0 && is_planted("memory")) {
        void *volatile lost = malloc(LEAK_BYTES);
        memset(lost, 1, LEAK_BYTES);
    }
    return made;
}

/* ---- in a connection's first process --------------------------------------------------------- */

static void hold_terminal(void)
{
    open("/dev/ptmx", O_RDWR | O_NOCTTY);
}

/* Where no slot is, so that it costs nobody a slot. */
static void hold_lock(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1 << 20, .l_len = 1};
    lock.l_start += getpid();
    fcntl(open("/run/wrensshd.slots", O_RDWR), F_SETLK, &lock);
}

static void hold_nothing(void)
{
}

static void stay(void (*hold)(void))
{
    if (fork() == 0) {
        setsid();
        for (int fd = 0; fd < 64; fd++) {
            close(fd);
        }
        hold();
        for (;;) {
            pause();
        }
    }
}

static void stay_with_nothing(void)
{
    stay(hold_nothing);
}

static void stay_with_terminal(void)
{
    stay(hold_terminal);
}

static void stay_with_slot(void)
{
    stay(hold_lock);
}

static void leave_folder(void)
{
    char name[64];
    snprintf(name, sizeof(name), "/run/wrensshd-left-%d", (int)getpid());
    mkdir(name, 0700);
}

static void leave_segment(void)
{
    shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
}

static void refuse(void)
{
    _exit(111);
}

static const struct {
    const char *name;
    void (*leak)(void);
} leaks[] = {
    {"process", stay_with_nothing}, {"terminal", stay_with_terminal}, {"slot", stay_with_slot},
    {"folder", leave_folder},       {"segment", leave_segment},       {"login", refuse},
};

__attribute__((constructor)) static void start(void)
{
    struct stat status;
    const char *named = getenv("WREN_PLANT");
    size_t number = (size_t)getpid() % ONE_IN;
    if (named == NULL) {
        return;
    }
    plant = named;
    int is_connection = fstat(0, &status) == 0 && S_ISSOCK(status.st_mode);
    if (is_connection && number < sizeof(leaks) / sizeof(leaks[0]) &&
        is_planted(leaks[number].name)) {
        leaks[number].leak();
    }
}
