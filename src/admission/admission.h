/*
 * Admission: who may hold a connection. All connections of one user id, as a rule root's, share one
 * table, whatever their launcher. Nobody waits:
 *
 *     a new connection: admission_enter()
 *       |
 *       |-- a slot is free? ---------------------------------------> it takes the slot (and still
 *       |                                                            evicts while an attack lasts)
 *       |
 *       |-- it evicts the victim, which gets ADMISSION_SIGNAL: the silent before those
 *       |   that have exchanged keys, the oldest first, but of the largest group of
 *       |   sources (slots_victim()). One with a large penalty evicts only its own.
 *       |     |
 *       |     '-- a spare slot is free? -----------------------------> it takes the spare
 *       |
 *       '-- else it is refused: "penalty", or "no slot" while evicted processes have not ended
 *
 *     Before the login, the more are silent, the less time each has: admission_silence_ms()
 *
 *     the login: admission_log_in() takes a login record, which counts for the user. Above the
 *       user's limit the login is refused, and nobody is ended for it. admission_leave() gives up
 *       the slot and trusts the source for some time.
 *     an end without a login: admission_fail() adds to the source's penalty.
 *
 * Seven words: a source is where connections come from. A slot is what each holds before its login;
 * a spare is one of as many again, for those who come while others end. The victim is who is
 * evicted. A source's penalty grows with each connection that ends without a login; a login
 * replaces it by trust for an hour. A login record is what a connection holds afterwards. The table
 * has all of these.
 *
 * The table is `/run/wrensshd.slots`, or in `$XDG_RUNTIME_DIR` for an ordinary user. Every daemon
 * reads and writes it without waiting for the others. The kernel's lock is the truth, the record is
 * a hint: a slot or a login record is held while a lock is held on its bytes (fcntl(2), F_SETLK).
 * The kernel releases the lock with the process and names its holder, so that only a process that
 * holds a slot at this moment is asked to end. What the bytes say may be stale, half new or
 * invented: it may cost an attacker's connection more or less, and nothing else.
 *
 * A process that closes any descriptor of the file loses its locks. So the monitor keeps the
 * descriptor after the login, and no system call that writes to it. Without a table, or with one
 * that can't be used, connections are served as if there were none.
 */
#ifndef WREN_ADMISSION_H
#define WREN_ADMISSION_H

#include <signal.h>

#include "base.h"

/* What an evicted process gets. signals_reset() blocks it; The monitor reads it, and ends. */
#define ADMISSION_SIGNAL SIGUSR1

/* Where a connection comes from. `network` is the first half of an IPv6 address (of a link-local
 * one with the end of the second, as a link is no one's network), or in a range that no IPv6
 * address has: an IPv4 address, all of 127/8 and ::1, or what is no IP address: the uid of a Unix
 * socket, a CID of vsock, or just that it is one of them. */
struct source {
    uint64_t network;
    uint64_t host; /* the second half of an IPv6 address; else 0 */
};

struct admission {
    int fd; /* of the table, or -1; closing it would free the slot and the login record */
    size_t limit;
    size_t slot;
    bool exchanged;
    bool trusted;   /* the end adds no penalty */
    bool logged_in; /* has a login record, whose lock ends with the descriptor */
    pid_t pid;      /* of the process that holds the slot */
    uid_t uid;      /* the effective one */
    struct source source;
};

/*
 * Takes a slot for the process that calls it: its children have none. The caller has called
 * sodium_init() and signals_reset(), and has read nothing from the client. Returns false, which is
 * logged, if the connection must end: others have all slots and its source has a penalty, or
 * evicted processes fill the table. Trick: own frame, for the table's front: it would lie above the
 * stack of each process. */
__attribute__((noinline)) bool admission_enter(struct admission *admission,
                                               const struct peer *peer);

/* The first key exchange is over, which makes the connection's eviction less likely. Later calls do
 * nothing. */
void admission_note_exchange(struct admission *admission);

/* How long a connection may be silent, up to `most_ms`: less while many others are. */
int64_t admission_silence_ms(const struct admission *admission, int64_t most_ms);

/*
 * Takes a login record for a connection of this user, who is about to log in: until the process
 * exits. The user has at most `most` of them, by default (UINT32_MAX) as many as fit the memory,
 * and with 0 there is no limit and no record. `reserved` is for administrators: the reserve is
 * theirs, and comes on top of their limit. Returns NULL, or why the user may not log in.
 *
 * Nobody exceeds the limit, takes the reserve, or takes more records than there are. Of logins of
 * one user at the same moment that would exceed it, all may be refused.
 */
__attribute__((noinline)) const char *admission_log_in(struct admission *admission, uid_t user,
                                                       unsigned most, bool reserved);

/* Gives up the slot, after a login, and trusts the source for some time. A login record is kept. */
void admission_leave(struct admission *admission);

/* For a connection that ends without a login: adds to its source's penalty. The slot is kept until
 * the process exits. */
void admission_fail(const struct admission *admission, int64_t added_ms);

#endif
