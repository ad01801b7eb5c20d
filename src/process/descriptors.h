/*
 * Descriptors and signals that a process inherits: the daemon from its launcher, programs of a
 * session from the daemon.
 */
#ifndef WREN_DESCRIPTORS_H
#define WREN_DESCRIPTORS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "descriptor_numbers.h"

/* Closes every descriptor from `first` on. On kernels before 5.9 without /proc only those up to
 * 65535. */
void descriptors_close_from(int first);

/* Closes those from `first` to `last`, whether or not they are open. */
void descriptors_close_between(int first, int last);

/* Sets all signals to their default disposition and unblocks them, except SIGUSR1: this signal
 * evicts a connection (admission.h) and waits until signals_watch(). Then ignores SIGPIPE and
 * SIGXFSZ, for which write() returns an error instead. A launcher may have ignored others, and
 * every program of the session would inherit that. */
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

/* ---- numbers in a directory of /proc --------------------------------------------------------- */

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

#endif
