/*
 * Admission: who may hold a connection before its login. Each such connection of the host has a
 * place in one table (places.h), whatever its launcher. A newcomer who finds none free evicts the
 * connection that has done the least for the longest time. It never waits.
 *
 * The table is `/run/wrensshd.places`, or in `$XDG_RUNTIME_DIR` for an ordinary user. A place is
 * held by a lock on its bytes (fcntl(2), F_SETLK), which the kernel gives up with the process, and
 * which names its holder: the process that is asked to end is one that holds a place at this
 * moment. Without a table, or with one that can't be used, connections are served as if there were
 * none.
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
    int fd; /* of the table, or -1; the monitor frees its place by closing it */
    size_t place;
    bool exchanged;
    bool trusted; /* an end without a login adds no debt */
    pid_t pid;    /* of the process that holds the place */
    uid_t uid;    /* the effective one */
    struct source source;
};

/*
 * Takes a place for the process that calls it: its children have none. The caller has called
 * sodium_init() and signals_reset(), and has read nothing from the client. Returns false, which is
 * logged, if the connection must end: others have all places and its source is in debt, or evicted
 * processes fill the table. Trick: own frame, for the three functions that read the table's front:
 * it would lie above the stack of each process. */
__attribute__((noinline)) bool admission_enter(struct admission *admission,
                                               const struct peer *peer);

/* The first key exchange is over, which makes the connection's eviction less likely. Later calls do
 * nothing. */
void admission_note_exchange(struct admission *admission);

/* Gives up the place, after a login, and trusts the source for some time. */
__attribute__((noinline)) void admission_leave(struct admission *admission);

/* For a connection that ends without a login: adds to its source's debt. The place is kept until
 * the process exits. */
__attribute__((noinline)) void admission_fail(const struct admission *admission, int64_t added_ms);

#endif
