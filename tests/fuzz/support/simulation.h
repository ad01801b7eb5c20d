/*
 * A system that is only simulated, for targets that run a whole process of wrenssh's: descriptors,
 * time and the log. A target's calls of the C library go to the functions __wrap_NAME (ld's --wrap)
 * while `simulating` is set, and to the C library at all other times, as the fuzzer calls it too.
 */
#ifndef WREN_SIMULATION_H
#define WREN_SIMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fuzz.h"

extern bool simulating;
extern int64_t simulation_ms; /* the monotonic clock */

/* Each input begins with no descriptors, at the same time. simulation_end() prints the goals that
 * the input has reached if FUZZ_GOALS is set: one line for each input. */
void simulation_begin(void);
void simulation_end(void);

/* Something that seeds must reach; tests/fuzz/check_goals.py compares. The text must stay. */
void simulation_goal(const char *goal);

/* As FUZZ_CHECK, for use while simulating: what ends the program needs the real system. */
#define SIMULATION_CHECK(holds) ((holds) ? (void)0 : simulation_fail(#holds, __FILE__, __LINE__))
__attribute__((noreturn)) void simulation_fail(const char *promise, const char *file, int line);

/* ---- descriptors ----------------------------------------------------------------------------- */

#define SIMULATION_FDS 4096

struct simulated_fd {
    int kind; /* the target's own; 0: closed */
    int object;
    bool cloexec;
    bool nonblocking;
};

/* The lowest free number, not below `least`. */
int simulation_open(int least, int kind, int object);
void simulation_place(int fd, int kind, int object);
struct simulated_fd *simulation_fd(int fd); /* NULL if it is closed */
unsigned simulation_count_fds(int kind);    /* 0: of all kinds */

/* Fails if it is not open: no product code closes a descriptor twice. */
int simulation_close(int fd);

/* A child's copy of the descriptors: what follows until simulation_leave_child() is undone then. */
void simulation_enter_child(void);
void simulation_exec(void); /* closes what is close-on-exec */
void simulation_close_from(int first);
void simulation_leave_child(void);

/* ---- the log --------------------------------------------------------------------------------- */

/* Counts the lines that hold this text, which stays. To be called before they are written. */
void simulation_count_lines(const char *text);
unsigned simulation_lines(const char *text);

/* No line and nothing else that leaves the process may hold 8 bytes of this, in a row. */
void simulation_keep_secret(const uint8_t *secret, size_t bytes);
void simulation_check_secret(const void *sent, size_t bytes);

#endif
