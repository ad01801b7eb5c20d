/*
 * Admission: who may hold a connection. Before its login each connection of the host has a place in
 * one table (places.h), whatever its launcher. A newcomer who finds none free evicts the connection
 * that has done the least for the longest time. It never waits. While many are silent, each has
 * less time. After the login a connection has a record in the same table, which counts for its
 * user: above the user's limit a login is refused, and nobody is ended for it.
 *
 * The table is `/run/wrensshd.slots`, or in `$XDG_RUNTIME_DIR` for an ordinary user. A place
 * or a record is held by a lock on its bytes (fcntl(2), F_SETLK), which the kernel gives up with
 * the process, and which names its holder: the process that is asked to end is one that holds a
 * place at this moment. As that process must never close the file, the monitor keeps the descriptor
 * after the login, and no system call that writes to it. Without a table, or with one that can't be
 * used, connections are served as if there were none.
 */
#ifndef WREN_ADMISSION_H
#define WREN_ADMISSION_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "peer.h"
#include "places.h"

/* What an evicted process gets. signals_reset() blocks it; signals_watch() reads it. */
#define ADMISSION_SIGNAL SIGUSR1

struct admission {
    int fd; /* of the table, or -1; closing it would free the place and the record */
    size_t limit;
    size_t place;
    bool exchanged;
    bool trusted;   /* the end adds no debt */
    bool logged_in; /* has a record, whose lock ends with the descriptor */
    pid_t pid;      /* of the process that holds the place */
    uid_t uid;      /* the effective one */
    struct source source;
};

/*
 * Takes a place for the process that calls it: its children have none. The caller has called
 * sodium_init() and signals_reset(), and has read nothing from the client. Returns false, which is
 * logged, if the connection must end: others have all places and its source is in debt, or evicted
 * processes fill the table. Trick: own frame, for the table's front: it would lie above the stack
 * of each process. */
__attribute__((noinline)) bool admission_enter(struct admission *admission,
                                               const struct peer *peer);

/* The first key exchange is over, which makes the connection's eviction less likely. Later calls do
 * nothing. */
void admission_note_exchange(struct admission *admission);

/* How long a connection may be silent, up to `most_ms`: less while many others are. */
int64_t admission_silence_ms(const struct admission *admission, int64_t most_ms);

/*
 * Takes a record for a connection of this user, who is about to log in: until the process exits.
 * The user has at most `most` of them, by default (UINT32_MAX) as many as fit the memory, and with
 * 0 there is no limit and no record. `reserved` is for administrators: the reserve is theirs, and
 * comes on top of their limit. Returns NULL, or why the user may not log in.
 *
 * Nobody exceeds the limit, takes the reserve, or takes more records than there are. Of logins of
 * one user at the same moment that would exceed it, all may be refused.
 */
__attribute__((noinline)) const char *admission_log_in(struct admission *admission, uid_t user,
                                                       unsigned most, bool reserved);

/* Gives up the place, after a login, and trusts the source for some time. A record is kept. */
void admission_leave(struct admission *admission);

/* For a connection that ends without a login: adds to its source's debt. The place is kept until
 * the process exits. */
void admission_fail(const struct admission *admission, int64_t added_ms);

#endif
