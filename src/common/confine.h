/*
 * Giving up rights for good: what every process of a connection uses that needs fewer of them from
 * some point on.
 */
#ifndef WREN_CONFINE_H
#define WREN_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "identity.h"

/*
 * setgroups(2), setresgid(2) and setresuid(2) without the C library: a process of ours has one
 * thread, and musl's way to change the ids of all threads costs a static program six system calls
 * each and the code to stop threads. Return 0, or -1 with errno.
 */
int confine_set_groups(size_t count, const gid_t *groups);
int confine_set_gids(gid_t real, gid_t effective, gid_t saved);
int confine_set_uids(uid_t real, uid_t effective, uid_t saved);

/* Lowers both limits of a resource (getrlimit(2)) to `most`. A launcher's lower limit can't be
 * raised, and needn't be. By prlimit(2): musl's setrlimit() stops threads. Returns false with errno
 * if the kernel refuses. */
bool confine_limit(int resource, rlim_t most);

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
