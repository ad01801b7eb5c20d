/*
 * What a process does to itself: its memory, its descriptors and signals, and the layers of its
 * sandbox.
 */
#ifndef WREN_PROCESS_H
#define WREN_PROCESS_H

#include <signal.h>
#include <sys/resource.h>

#include "base.h"

/* Pages of this process: those that are returned to the kernel, those of the connection, and those
 * that hold a secret. */

/* ---- unused pages (madvise(2), MADV_DONTNEED) ------------------------------------------------ */

/* They are returned so that an idle connection does not keep what its busiest moment needed. The
 * memory then reads as zeros, and takes a page again only when it is written to. A secret that was
 * left in it is erased. */

/* Returns the whole pages within [start, start + bytes): of .bss, of the stack, or of a private
 * anonymous mapping. A page that is only partly in the range stays as it is. If the kernel refuses,
 * nothing changes. */
void memory_give_back(void *start, size_t bytes);

/* Returns the pages of the stack below the caller. Only deeper calls need them again. */
void memory_give_back_stack(void);

/* ---- the connection's memory, memory.c ------------------------------------------------------- */

/* Returns zeroed memory that never gets huge pages, or NULL with errno. It lies a page
 * after the static data, if that is free: then both often share a page of the page table, and a
 * write beyond the data meets no memory. */
void *memory_beside_data(size_t bytes);

/* ---- secrets, memory.c ----------------------------------------------------------------------- */

/* Memory for a secret of this process: pages of its own that are never swapped out, never in a core
 * dump, and that a forked child does not get. */

/*
 * Returns zeroed memory of `bytes`, rounded up to whole pages, or NULL with errno. The memory lacks
 * a property that the kernel or a limit denies: locking needs space in RLIMIT_MEMLOCK, and zeros
 * for a child need Linux 4.14. So a child must call secret_abandon() in any case.
 */
void *secret_new(size_t bytes);

/* For a forked child: unmaps the memory in the child only, unless the kernel gave it zeros. */
void secret_abandon(void *secret, size_t bytes);

/* ---- the kernel out of memory, memory.c ------------------------------------------------------ */

/*
 * oom_score_adj (proc(5)): which processes the kernel ends first when memory runs out.
 */

/* A number from -1000 to 1000 with its newline and a NUL. */
#define OOM_SCORE_BYTES 8

struct oom {
    int fd; /* this process's oom_score_adj; -1 if oom_raise() has not changed it */
    char before[OOM_SCORE_BYTES];
};

/*
 * Raises the score of this process and its later children to LIMIT_OOM_SCORE. Changes nothing
 * without /proc, or if the score is as high already. The descriptor has a number of at least
 * `least_fd`; it stays open because a process that is not dumpable cannot open it again, unless it
 * is root's.
 */
void oom_raise(struct oom *oom, int least_fd);

/* Restores the score before oom_raise(), and closes the descriptor. Also restores that of `other`,
 * a process that was forked since, which only root may do. */
void oom_restore(struct oom *oom, pid_t other);

/* ---- random bytes, entropy.c ----------------------------------------------------------------- */

/* The source of random bytes: getrandom(), or /dev/urandom on kernels before 3.17. libsodium uses
 * this source instead of its own, for two reasons: its own differs from build to build; and on old
 * kernels it keeps a descriptor whose number we do not choose. We might put another file under that
 * number, and libsodium would take its bytes for random ones. */

/* Any number. */
#define ENTROPY_ANYWHERE (-1)

/* The exit code of a process that can get no more random bytes: it never uses others. */
#define ENTROPY_EXIT 111

/*
 * Finds the source and makes libsodium use it; to be called before sodium_init(). Waits until the
 * kernel's random pool is initialized: at most `seconds`, or without limit if 0. Uses SIGALRM while
 * it waits for getrandom().
 *
 * If the source is /dev/urandom, it is opened as `descriptor`, close-on-exec, and stays open; a
 * file under that number is closed. Returns false and logs why if there is no source, or if it is
 * not ready in time.
 */
bool entropy_start(int descriptor, unsigned seconds);

/* True if the source is /dev/urandom: its descriptor must stay open. */
bool entropy_is_descriptor(void);

/* For a process that needs no more random bytes: closes the descriptor, if there is one. A later
 * request for random bytes ends the process with ENTROPY_EXIT. */
void entropy_stop(void);

/* ---- descriptors and signals, descriptors.c -------------------------------------------------- */

/* Descriptors and signals that a process inherits: the daemon from its launcher, programs of a
 * session from the daemon. */

/* Closes *fd if it is open, and sets it to -1. */
void descriptors_close_one(int *fd);

/* Closes every descriptor from `first` on. On kernels before 5.9 without /proc only those up to
 * 65535. */
void descriptors_close_from(int first);

/* Closes those from `first` to `last`, whether or not they are open. */
void descriptors_close_between(int first, int last);

/* Sets all signals to their default disposition and unblocks them, except SIGUSR1: this signal
 * evicts a connection (admission.h) and waits until signals_watch(). But ignores SIGPIPE and
 * SIGXFSZ: write() returns an error for a closed pipe, or a log file at its size limit. A launcher
 * may have ignored others, and every program of the session would inherit that. */
void signals_reset(void);

/* For programs of others: sets the signals that signals_reset() ignores back to the default and
 * unblocks all signals. */
void signals_hand_on(void);

/* For children of ours: unblocks all signals. */
void signals_unblock(void);

/* The most signals that wait in the descriptor of signals_watch(): one of each kind. */
#define SIGNALS_WATCHED 5

/* Blocks SIGCHLD and, if `with_ending`, the signals that ask a process to end: SIGTERM, SIGINT,
 * SIGHUP and SIGUSR1, which admission.h sends; unblocks all others. Returns a signalfd(2) for the
 * blocked ones, close-on-exec and non-blocking, or -1 with errno. */
int signals_watch(bool with_ending);

/* True if one of these is blocked and pending. For waits that do not watch a signalfd. */
bool signals_ending_wait(void);

/* ---- numbers in a directory of /proc, descriptors.c ------------------------------------------ */

/*
 * Directories: opendir() would allocate memory.
 */

/* An entry as getdents64(2) writes it. */
struct dirs_entry {
    uint64_t inode;
    int64_t next; /* the place in the directory after this entry */
    uint16_t bytes;
    uint8_t type;
    char name[];
};

_Static_assert(offsetof(struct dirs_entry, name) == 19, "the kernel's struct linux_dirent64");

/* `list` is the descriptor by which the directory is read. */
typedef void dirs_visit(void *context, int list, int number);

/* Calls `visit` for each entry whose name is a number, as in /proc and /proc/self/fd. Returns false
 * if the directory cannot be opened, or after a read error. */
bool dirs_numbers(const char *path, dirs_visit *visit, void *context);

/* ---- giving up rights, confine.c ------------------------------------------------------------- */

/* Giving up rights for ever: ids, groups, limits, capabilities, core dumps. Each process of a
 * connection uses these functions when it needs fewer rights from then on. */

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
 * also keeps the users from keyrings. Returns false only if root can't leave it for another reason;
 * an ordinary user goes on with the old one. */
bool confine_leave_keyring(void);

/* Joins a new session keyring of this process's user, with a link to the user's own keyring, as
 * pam_keyinit(8) does: without that link no program can read or find the keys there. Goes on
 * without if the kernel refuses, because it has no keyrings or the user has too many keys. */
void confine_join_users_keyring(void);

/* Forbids core dumps, and ptrace(2) and /proc/PID/mem to processes of the same user. To be called
 * after a change of uid, with which the kernel may reset it. */
bool confine_not_dumpable(void);

/* ---- the layers of a sandbox, confine.c ------------------------------------------------------ */

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

/* ---- Landlock, confine.c --------------------------------------------------------------------- */

/*
 * Landlock (landlock(7), Linux 5.13): a process takes rights away from itself and from all that it
 * starts. They are then in a domain: they can't trace processes outside of it, read their memory
 * or take descriptors from them (ptrace(2), pidfd_getfd(2)).
 */

/* Makes a rule set that takes away these rights to files (LANDLOCK_* of seccomp.h), and these
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
