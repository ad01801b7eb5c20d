/*
 * Giving up rights for ever: ids, groups, limits, capabilities, core dumps. Each process of a
 * connection uses these functions when it needs fewer rights from then on.
 */
#ifndef WREN_CONFINE_H
#define WREN_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "identity.h"

/*
 * The system calls setgroups(2), setresgid(2) and setresuid(2). Our processes have one thread each;
 * musl's functions change the ids of all threads, which takes six more system calls each and the
 * code to stop threads. Return 0, or -1 with errno.
 */
int confine_set_groups(size_t count, const gid_t *groups);
int confine_set_gids(gid_t real, gid_t effective, gid_t saved);
int confine_set_uids(uid_t real, uid_t effective, uid_t saved);

/* Lowers both limits of a resource (getrlimit(2)) to `most`; a lower limit of the launcher's stays.
 * Of RLIMIT_CPU the first is a second less, so that SIGXCPU comes before SIGKILL. By prlimit(2), as
 * musl's setrlimit() stops threads. Returns false with errno if the kernel refuses. */
bool confine_limit(int resource, rlim_t most);

/* Sets the real, effective and saved gid and uid. Returns false if the kernel refuses, or if the
 * process could still become root again. Needs CAP_SETUID and CAP_SETGID. */
bool confine_identity(const struct identity *identity);

/* Empties the effective, permitted, inheritable and ambient sets of capabilities. */
bool confine_capabilities(void);

/* Empties only the sets that a program inherits by exec: inheritable and ambient. */
bool confine_inheritable(void);

/* Sets no_new_privs (prctl(2)): seccomp filters need it. */
bool confine_new_privileges(void);

/* For a process that strangers will use (-N), right after its exec, which makes the saved ids those
 * in force. Returns false unless it is an ordinary user's, without root's group. Then it loses all
 * capabilities, and no program that it starts gets the rights of another user (set-user-ID). */
bool confine_ordinary_user(void);

/* Leaves the launcher's session keyring (keyrings(7)), whose keys are not for the users who log in.
 * A kernel without keyrings returns ENOSYS. Only a container's filter returns EPERM here, and it
 * also keeps the users from keyrings. A daemon that does not run as root keeps its user's
 * keyring. */
bool confine_leave_keyring(void);

/* Joins a new session keyring of this process's user, with a link to the user's own keyring, as
 * pam_keyinit(8) does: without that link no program can read or find the keys there. Goes on
 * without if the kernel refuses, because it has no keyrings or the user has too many keys. */
void confine_join_users_keyring(void);

/* Forbids core dumps, and ptrace(2) and /proc/PID/mem to processes of the same user. To be called
 * after a change of uid, with which the kernel may reset it. */
bool confine_not_dumpable(void);

#endif
