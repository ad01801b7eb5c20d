/*
 * Giving up rights for good: what every process of a connection uses that needs fewer of them from
 * some point on.
 */
#ifndef WREN_CONFINE_H
#define WREN_CONFINE_H

#include <stdbool.h>

#include "identity.h"

/* Takes on the identity: real, effective and saved gid and uid. Returns false if the kernel refuses
 * or leaves a way back to root. The process must have CAP_SETUID and CAP_SETGID in effect. */
bool confine_identity(const struct identity *identity);

/* Empties the effective, permitted and inheritable sets of capabilities. */
bool confine_capabilities(void);

/* Empties only what a program inherits across exec: the inheritable and the ambient set. */
bool confine_inheritable(void);

/* Sets no_new_privs (prctl(2)): seccomp filters need it. */
bool confine_new_privileges(void);

/* No core dump, no ptrace(2), no /proc/PID/mem for processes of the same user. The kernel sets the
 * flag anew when a uid changes, so this comes after. */
bool confine_not_dumpable(void);

#endif
