/*
 * Seccomp (seccomp(2)): a filter that is made from a list of system calls, where every other call
 * kills the process; and strict mode, in which the kernel has the list.
 */
#ifndef WREN_SECCOMP_FILTER_H
#define WREN_SECCOMP_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
