/*
 * Rows that several lists of system calls (seccomp_filter.h) have in common. A C library chooses
 * among a few calls for one purpose: each macro has all of them that this architecture knows.
 */
#ifndef WREN_SECCOMP_CALLS_H
#define WREN_SECCOMP_CALLS_H

#include <sys/syscall.h>

/* The rows with a comma are those that some architectures lack. */

#ifdef SYS_poll
#define SECCOMP_CALL_POLL {.number = SYS_poll},
#else
#define SECCOMP_CALL_POLL
#endif

#ifdef SYS_ppoll_time64
#define SECCOMP_CALL_PPOLL_TIME64 {.number = SYS_ppoll_time64},
#else
#define SECCOMP_CALL_PPOLL_TIME64
#endif

#ifdef SYS_clock_gettime
#define SECCOMP_CALL_CLOCK {.number = SYS_clock_gettime},
#else
#define SECCOMP_CALL_CLOCK
#endif

#ifdef SYS_clock_gettime32 /* musl's name for the former on 32-bit machines, its second choice */
#define SECCOMP_CALL_CLOCK32 {.number = SYS_clock_gettime32},
#else
#define SECCOMP_CALL_CLOCK32
#endif

#ifdef SYS_clock_gettime64
#define SECCOMP_CALL_CLOCK64 {.number = SYS_clock_gettime64},
#else
#define SECCOMP_CALL_CLOCK64
#endif

/* clang-format off */

/* poll(2), its restart after a stop, and the clock for its timeout. */
#define SECCOMP_CALLS_WAITING                                                                      \
    SECCOMP_CALL_POLL                                                                              \
    SECCOMP_CALL_PPOLL_TIME64                                                                      \
    SECCOMP_CALL_CLOCK                                                                             \
    SECCOMP_CALL_CLOCK32                                                                           \
    SECCOMP_CALL_CLOCK64                                                                           \
    {.number = SYS_ppoll},                                                                         \
    {.number = SYS_restart_syscall}

/* fcntl(2) with one command; on 32-bit machines the C library calls fcntl64. */
#ifdef SYS_fcntl64
#define SECCOMP_CALLS_FCNTL(command)                                                               \
    {SYS_fcntl, 1, {{1, (command)}}},                                                              \
    {SYS_fcntl64, 1, {{1, (command)}}}
#else
#define SECCOMP_CALLS_FCNTL(command) {SYS_fcntl, 1, {{1, (command)}}}
#endif

/* clang-format on */

#endif
