/*
 * A seccomp filter (seccomp(2)) from a list of system calls: every other call kills the process.
 * Each process of a connection that has its own list builds it with this. Or the kernel's own list.
 */
#ifndef WREN_SECCOMP_FILTER_H
#define WREN_SECCOMP_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A rule allows a call if every named argument has the named value. Only the low 32 bits are
 * compared: the arguments are ints. Several rules may name the same call, each with arguments. */
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
 * Installs the filter for the rest of the process's life. Needs no_new_privs. Returns false if
 * there are more than SECCOMP_RULES_MAX rules, or if the kernel or the architecture has no filters.
 */
bool seccomp_install(const struct seccomp_rule *rules, size_t count);

/*
 * Enters strict mode: read(), write(), exit() and the return from a signal handler are all that is
 * left, and any other call ends the process with SIGKILL; so does rdtsc with SIGSEGV. Returns false
 * where a launcher has installed a filter already, and without seccomp in the kernel.
 */
bool seccomp_strict(void);

#endif
