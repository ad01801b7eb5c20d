/*
 * The table of connections: its layout in the file, who is evicted when it has no slot left before
 * the login, and the debts of sources whose connections ended without one. It makes no system call.
 *
 * Every daemon of the host reads and writes the file without waiting for the others, so any value
 * in it may be stale or half new: a wrong one may cost an attacker's connection more or less, and
 * nothing else. What must be exact, who holds a place, is a kernel lock (admission.c).
 *
 * All times are in milliseconds, of clock_now_ms().
 */
#ifndef WREN_PLACES_H
#define WREN_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limit_places.h"
#include "peer.h"

/* ---- sources --------------------------------------------------------------------------------- */

/* Where a connection comes from. `network` is the first half of an IPv6 address (of a link-local
 * one with the end of the second, as a link is no one's network), or in a range that no IPv6
 * address has: an IPv4 address, all of 127/8 and ::1, or what is no IP address: the uid of a Unix
 * socket, a CID of vsock, or just that it is one of them. */
struct source {
    uint64_t network;
    uint64_t host; /* the second half of an IPv6 address; else 0 */
};

struct source source_of(const struct peer *peer);

/* False for this host, whose proxies may carry anybody's connections: it has no debts. */
bool source_is_remote(const struct source *source);

/* ---- the file -------------------------------------------------------------------------------- */

enum place_phase {
    PLACE_EMPTY = 0,
    PLACE_STARTED,
    PLACE_EXCHANGED, /* the first key exchange is over */
    PLACE_EVICTED,   /* its holder has been asked to end */
};

struct place {
    struct source source;
    int64_t started_ms;
    uint32_t phase;
    int32_t holder; /* its pid. The lock of a newcomer has another one than the record before it */
};

/* A source's debt runs off as time passes. Each connection without a login adds to it. */
struct debt {
    uint64_t network;
    int64_t until_ms;
    uint64_t trusted; /* not 0: until then it has no debt, because somebody has logged in */
};

struct places_front {
    char magic[8];
    uint32_t version;
    uint32_t limit;     /* places; as many again are for those who come while others are evicted */
    int64_t evicted_ms; /* the last eviction */
    uint64_t evicted;   /* since the line that reported the first */
    int64_t refusal_line_ms; /* the last line about a refused source */
    uint64_t refused;        /* since that line */
    struct debt debts[LIMIT_DEBTS];
};

struct places_file {
    struct places_front front;
    struct place places[2 * LIMIT_PLACES];
    /* Connections after their login: the user's uid plus 1, or 0. Such a record counts while a lock
     * is held on it. */
    uint32_t logins[LIMIT_LOGINS];
};

/* An empty table for a machine with this much memory. */
void places_make(struct places_front *front, uint64_t memory_bytes);

/* True if the file's beginning is a table of this version. */
bool places_are_ours(const struct places_front *front);

/* ---- eviction -------------------------------------------------------------------------------- */

/*
 * The index of the place to evict, or `count` if there is none. First come those of a group of
 * sources that has more than its share, a sixteenth of the places: of the largest /48 or IPv4 /24,
 * in it of the largest /56, /64 and address. Among these, connections without a key exchange come
 * first, then the others, the oldest first; but silent ones of the younger half come last. `random`
 * decides among equals, and while others are evicted (PLACE_EVICTED) among as many more of the
 * oldest, but not of the younger half: so new connections that come at the same moment do not all
 * choose the same one. `count` is at most 2 * LIMIT_PLACES. With `only`, just connections of this
 * source's network are looked at.
 */
size_t places_victim(const struct place *places, size_t count, const struct source *only,
                     uint32_t random);

/* ---- debts ----------------------------------------------------------------------------------- */

/* True if the source owes too much: it may evict nobody else's connection. */
bool debts_confine(struct debt debts[static LIMIT_DEBTS], const struct source *source,
                   int64_t now_ms);

/* True if somebody has logged in from the source in the last LIMIT_TRUST_MS. */
bool debts_trust(struct debt debts[static LIMIT_DEBTS], const struct source *source,
                 int64_t now_ms);

/* Adds to the source's debt, unless it is trusted. Returns its entry; a new one replaces that which
 * runs off first. */
struct debt *debts_add(struct debt debts[static LIMIT_DEBTS], const struct source *source,
                       int64_t added_ms, int64_t now_ms);

/* After a login: clears the debt, also what others have caused, and trusts the source for
 * LIMIT_TRUST_MS. Returns its entry, likewise. */
struct debt *debts_clear(struct debt debts[static LIMIT_DEBTS], const struct source *source,
                         int64_t now_ms);

#endif
