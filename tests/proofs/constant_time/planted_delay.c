/*
 * Loaded into a daemon by login.py --plant: the refusals of one user come later.
 *
 *     LD_PRELOAD=planted_delay.so PLANTED_USER=NAME PLANTED_US=MICROSECONDS wrensshd ...
 *
 * The monitor hashes the user name to learn how long a refusal takes, and then waits on one
 * descriptor, for no event. After that wait this function keeps the processor busy.
 */
#include <dlfcn.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char user[64];
static long long delay_ns;
static bool due;

__attribute__((constructor)) static void begin(void)
{
    const char *name = getenv("PLANTED_USER"), *delay = getenv("PLANTED_US");
    if (name != NULL && delay != NULL && strlen(name) < sizeof(user)) {
        strcpy(user, name);
        delay_ns = atoll(delay) * 1000;
    }
}

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void burn(void)
{
    long long until = now_ns() + delay_ns;
    while (now_ns() < until) {
    }
    due = false;
}

int crypto_hash_sha256_update(void *state, const unsigned char *in, unsigned long long count)
{
    static int (*update)(void *, const unsigned char *, unsigned long long);
    if (update == NULL) {
        *(void **)&update = dlsym(RTLD_NEXT, "crypto_hash_sha256_update");
    }
    due = due || (count > 0 && count == strlen(user) && memcmp(in, user, count) == 0);
    return update(state, in, count);
}

int ppoll(struct pollfd *waiting, nfds_t count, const struct timespec *timeout,
          const sigset_t *mask)
{
    static int (*wait)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
    if (wait == NULL) {
        *(void **)&wait = dlsym(RTLD_NEXT, "ppoll");
    }
    int ready = wait(waiting, count, timeout, mask);
    if (due && count == 1 && waiting[0].events == 0 && ready == 0) {
        burn();
    }
    return ready;
}
