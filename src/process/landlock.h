/*
 * Landlock (landlock(7), Linux 5.13): a process takes rights away from itself and from all that it
 * starts. They are then in a domain: they can't trace processes outside of it, read their memory
 * or take descriptors from them (ptrace(2), pidfd_getfd(2)).
 */
#ifndef WREN_LANDLOCK_H
#define WREN_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Makes a rule set that takes away these rights to files (LANDLOCK_* of seccomp_abi.h), and these
 * ways to reach processes outside (LANDLOCK_SCOPE_*). Returns a descriptor, or -1 if the kernel
 * does not know one of them. */
int landlock_rules(uint64_t rights, uint64_t scopes);

/* Gives the rights back beneath an open directory. Returns false if that fails. */
bool landlock_allow_beneath(int rules, int directory, uint64_t rights);

/* Enters the rule set for good, and closes it. Needs no_new_privs. Returns false if `rules` is -1
 * or the kernel refuses. */
bool landlock_enter(int rules);

/* Enters a domain that takes away no right to files. Since Linux 6.12 it can't send signals
 * outside, either. Does nothing before Linux 5.19, or without Landlock. */
void landlock_isolate(void);

#endif
