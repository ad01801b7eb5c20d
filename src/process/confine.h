/*
 * Giving up rights for ever: ids, groups, limits, capabilities, core dumps. Each process of a
 * connection uses these functions when it needs fewer rights from then on.
 */
#ifndef WREN_CONFINE_H
#define WREN_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct identity;

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

/* ---- the layers of a sandbox ----------------------------------------------------------------- */

/*
 * The layers of all sandboxes. Who enters which, in this order (a root,
 * groups and ids only if the daemon starts as root):
 *
 *     the network process, before it reads: net/sandbox.c
 *         an empty root, no groups, the sandbox's uid and gid; ends with the monitor; no
 *         capabilities, no_new_privs, not dumpable, limits, Landlock without any file, no other
 *         descriptors, seccomp with the list of net/seccomp.c
 *     the child that reads keys, before it parses: monitor/authkeys_child.c
 *         limits, also of CPU; no groups, the sandbox's uid and gid; ends with the monitor; no
 *         capabilities, no_new_privs, not dumpable, seccomp's strict mode
 *     the monitor, after the login: monitor/drop_privileges.c
 *         no groups, the sandbox's uid and gid; no capabilities, limits, no_new_privs, not
 *         dumpable, seccomp with a list
 *     the session process, which acts as the user: session/session_process.c
 *         the user's groups, uid and gid; no capabilities, not dumpable; ends with the monitor;
 *         with -N a Landlock domain
 *     wrensshd-sftp, started by that: sftp/sftp_sandbox.c
 *         no_new_privs, not dumpable, limits, Landlock with one tree of files, seccomp with a list
 *
 * The monitor checks that the required layers of the network process are in force, and logs them.
 */

enum sandbox_layer {
    SANDBOX_ROOT = 1 << 0,   /* chroot into a directory that was removed */
    SANDBOX_UID = 1 << 1,    /* own uid and gid, real, effective and saved */
    SANDBOX_GROUPS = 1 << 2, /* no supplementary groups */
    SANDBOX_NO_NEW_PRIVS = 1 << 3,
    SANDBOX_NOT_DUMPABLE = 1 << 4,
    SANDBOX_RLIMITS = 1 << 5,  /* no file growth, processes or core dumps; few descriptors */
    SANDBOX_LANDLOCK = 1 << 6, /* no access to files, if the kernel has Landlock */
    SANDBOX_SECCOMP = 1 << 7,  /* any system call that is not listed kills the process */
};

/* The required layers: all if the daemon starts as root, otherwise those that need no root.
 * Landlock is never required, as seccomp forbids every system call that Landlock would check. */
#define SANDBOX_REQUIRED_AS_ROOT                                                                   \
    (SANDBOX_ROOT | SANDBOX_UID | SANDBOX_GROUPS | SANDBOX_REQUIRED_AS_USER)
#define SANDBOX_REQUIRED_AS_USER                                                                   \
    (SANDBOX_NO_NEW_PRIVS | SANDBOX_NOT_DUMPABLE | SANDBOX_RLIMITS | SANDBOX_SECCOMP)

/* All names with their commas, and a NUL. */
#define SANDBOX_NAMES_BYTES 96

/* Writes the names of these layers, separated by commas, or "none". */
void sandbox_layers_name(char out[static SANDBOX_NAMES_BYTES], uint32_t layers);

/* ---- Landlock -------------------------------------------------------------------------------- */

/*
 * Landlock (landlock(7), Linux 5.13): a process takes rights away from itself and from all that it
 * starts. They are then in a domain: they can't trace processes outside of it, read their memory
 * or take descriptors from them (ptrace(2), pidfd_getfd(2)).
 */

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
