#include "simulation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fuzz.h"

#define GOALS    64
#define COUNTED  8
#define START_MS 1000000

bool simulating;
int64_t simulation_ms;

static const char *goals[GOALS];
static size_t goal_count;
static struct simulated_fd fds[SIMULATION_FDS];
static int fds_used;
static struct {
    const char *text;
    unsigned lines;
} counted[COUNTED];
static const uint8_t *secret;
static size_t secret_bytes;

void simulation_begin(void)
{
    memset(fds, 0, (size_t)fds_used * sizeof(fds[0]));
    memset(counted, 0, sizeof(counted));
    fds_used = 0;
    goal_count = 0;
    secret_bytes = 0;
    simulation_ms = START_MS;
    simulating = true;
}

void simulation_end(void)
{
    simulating = false;
    if (getenv("FUZZ_GOALS") == NULL) {
        return;
    }
    printf("goals:");
    for (size_t i = 0; i < goal_count; i++) {
        printf(" %s", goals[i]);
    }
    printf("\n");
    fflush(stdout);
}

void simulation_goal(const char *goal)
{
    for (size_t i = 0; i < goal_count; i++) {
        if (strcmp(goals[i], goal) == 0) {
            return;
        }
    }
    if (goal_count < GOALS) {
        goals[goal_count++] = goal;
    }
}

void simulation_fail(const char *promise, const char *file, int line)
{
    simulating = false;
    fuzz_fail(promise, file, line);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

struct simulated_fd *simulation_fd(int fd)
{
    return fd >= 0 && fd < fds_used && fds[fd].kind != 0 ? &fds[fd] : NULL;
}

void simulation_place(int fd, int kind, int object)
{
    SIMULATION_CHECK(fd >= 0 && fd < SIMULATION_FDS);
    fds[fd] = (struct simulated_fd){.kind = kind, .object = object};
    fds_used = fd >= fds_used ? fd + 1 : fds_used;
}

int simulation_open(int least, int kind, int object)
{
    while (simulation_fd(least) != NULL) {
        least++;
    }
    simulation_place(least, kind, object);
    return least;
}

unsigned simulation_count_fds(int kind)
{
    unsigned count = 0;
    for (int fd = 0; fd < fds_used; fd++) {
        count += fds[fd].kind != 0 && (kind == 0 || fds[fd].kind == kind);
    }
    return count;
}

int simulation_close(int fd)
{
    if (fd == -1) { /* of what could not be opened */
        errno = EBADF;
        return -1;
    }
    SIMULATION_CHECK(simulation_fd(fd) != NULL);
    fds[fd].kind = 0;
    return 0;
}

static struct simulated_fd parents[SIMULATION_FDS];
static int parents_used;

void simulation_enter_child(void)
{
    parents_used = fds_used;
    memcpy(parents, fds, sizeof(fds));
}

void simulation_leave_child(void)
{
    fds_used = parents_used;
    memcpy(fds, parents, sizeof(fds));
}

void simulation_exec(void)
{
    for (int fd = 0; fd < fds_used; fd++) {
        fds[fd].kind = fds[fd].cloexec ? 0 : fds[fd].kind;
    }
}

void simulation_close_from(int first)
{
    for (int fd = first; fd < fds_used; fd++) {
        fds[fd].kind = 0;
    }
}

/* ---- the log --------------------------------------------------------------------------------- */

void simulation_count_lines(const char *text)
{
    for (size_t i = 0; i < COUNTED; i++) {
        if (counted[i].text == NULL) {
            counted[i].text = text;
            return;
        }
    }
}

unsigned simulation_lines(const char *text)
{
    for (size_t i = 0; i < COUNTED && counted[i].text != NULL; i++) {
        if (strcmp(counted[i].text, text) == 0) {
            return counted[i].lines;
        }
    }
    return 0;
}

void simulation_keep_secret(const uint8_t *kept, size_t bytes)
{
    secret = kept;
    secret_bytes = bytes;
}

void simulation_check_secret(const void *sent, size_t bytes)
{
    for (size_t at = 0; at + 8 <= secret_bytes; at += 8) {
        SIMULATION_CHECK(memmem(sent, bytes, secret + at, 8) == NULL);
    }
}

/* One line, printable, and whole: nobody can forge another. */
SIMULATED(bool, log_stderr_write, const char *line, size_t bytes)
{
    if (!simulating) {
        return __real_log_stderr_write(line, bytes);
    }
    SIMULATION_CHECK(bytes > 0 && memchr(line, '\n', bytes) == line + bytes - 1);
    for (size_t i = 0; i + 1 < bytes; i++) {
        SIMULATION_CHECK(line[i] >= 0x20 && line[i] <= 0x7e);
    }
    for (size_t i = 0; i < COUNTED && counted[i].text != NULL; i++) {
        const char *text = counted[i].text;
        counted[i].lines += memmem(line, bytes, text, strlen(text)) != NULL;
    }
    simulation_check_secret(line, bytes);
    return true;
}

/* ---- time ------------------------------------------------------------------------------------ */

SIMULATED(int, clock_gettime, clockid_t clock, struct timespec *now)
{
    if (!simulating) {
        return __real_clock_gettime(clock, now);
    }
    *now = (struct timespec){.tv_sec = (time_t)(simulation_ms / 1000),
                             .tv_nsec = (long)(simulation_ms % 1000) * 1000000};
    return 0;
}

SIMULATED(int, close, int fd)
{
    return simulating ? simulation_close(fd) : __real_close(fd);
}
