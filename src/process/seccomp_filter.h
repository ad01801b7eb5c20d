/*
 * Seccomp (seccomp(2)): a filter that is made from a list of system calls, where every other call
 * kills the process; and strict mode, in which the kernel has the list.
 */
#ifndef WREN_SECCOMP_FILTER_H
#define WREN_SECCOMP_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

/* A rule allows a system call if each of the rule's arguments has the given value. Only the low 32
 * bits are compared, as the arguments are ints. Several rules may be for the same call if each has
 * arguments. */
#define SECCOMP_RULE_ARGUMENTS 2

struct seccomp_rule {
    uint32_t number; /* SYS_... */
    uint32_t argument_count;
    struct {
        uint32_t index;
        uint32_t value;
    } arguments[SECCOMP_RULE_ARGUMENTS];
};

/* The longest list. */
#define SECCOMP_RULES_MAX 46

/*
 * Installs the filter until the process ends. Needs no_new_privs. Returns false if there are more
 * than SECCOMP_RULES_MAX rules, if the kernel has no filters, or if we know no filter for this
 * architecture.
 */
bool seccomp_install(const struct seccomp_rule *rules, size_t count);

/*
 * Enters strict mode: only read(), write(), exit() and the return from a signal handler are
 * allowed. Any other call ends the process with SIGKILL, and the instruction rdtsc ends it with
 * SIGSEGV. Returns false if the kernel has no seccomp, or if a launcher has already installed a
 * filter.
 */
bool seccomp_strict(void);

/* ---- rows that several lists have in common -------------------------------------------------- */

/* A C library chooses among a few calls for one purpose: each macro has all of them that this
 * architecture knows. */

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
