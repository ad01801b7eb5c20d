/*
 * What is private to admission: the table's layout, how it is read, written and locked, and the
 * decisions, which make no system call: who is evicted, and what a penalty does. All times are in
 * milliseconds, of clock_now_ms().
 */
#ifndef WREN_TABLE_H
#define WREN_TABLE_H

#include "admission.h"
#include "limit_slots.h"

/* ---- the layout ------------------------------------------------------------------------------ */

enum slot_phase {
    SLOT_EMPTY = 0,
    SLOT_STARTED,
    SLOT_EXCHANGED, /* the first key exchange is over */
    SLOT_EVICTED,   /* its holder has been asked to end */
};

struct slot {
    struct source source;
    int64_t started_ms;
    uint32_t phase;
    int32_t holder; /* its pid. Until a new holder writes the record, the lock has another one */
};

/* A penalty expires as time passes. Each connection without a login adds to it. */
struct penalty {
    uint64_t network;
    int64_t until_ms;
    uint64_t trusted; /* not 0: until then there is none, because somebody has logged in */
};

struct table_front {
    char magic[8];
    uint32_t version;
    uint32_t limit;          /* slots; as many again are the spare ones */
    int64_t evicted_ms;      /* the last eviction */
    uint64_t evicted;        /* since the line that reported the first */
    int64_t refusal_line_ms; /* the last line about a refused source */
    uint64_t refused;        /* since that line */
    struct penalty penalties[LIMIT_PENALTIES];
};

struct table_file {
    struct table_front front;
    struct slot slots[2 * LIMIT_SLOTS];
    uint32_t logins[LIMIT_LOGINS]; /* login records: the user's uid plus 1, or 0 */
};

/* ---- the file, table.c ----------------------------------------------------------------------- */

/* An empty table for a machine with this much memory. */
void table_front_make(struct table_front *front, uint64_t memory_bytes);

/* The same for the memory of this machine. */
void table_front_make_here(struct table_front *front);

/* True if the file's beginning is a table of this version. */
bool table_front_is_ours(const struct table_front *front);

/* Opens the table of processes with this effective uid, and reads its front; makes it if there is
 * none, and replaces one of another version. Returns -1 if there can be none; the reason is logged,
 * unless there is no XDG_RUNTIME_DIR. */
int table_open(struct table_front *front, uid_t uid);

/* Both return false unless all bytes are read or, with errno, written. */
bool table_read(int fd, void *bytes, size_t count, size_t offset);
bool table_write(int fd, const void *bytes, size_t count, size_t offset);

/* The lock on these bytes, which the process holds until it gives it up, closes any descriptor of
 * the file, or ends. Never waits: false, with errno EAGAIN, if another process holds it. */
bool table_lock(int fd, size_t count, size_t offset);
void table_unlock(int fd, size_t count, size_t offset);

/* Locks one of `count` records of `bytes` bytes, from `offset` on, and returns its number, or
 * `count` if it can lock none, with errno as table_lock(). Begins at one that depends on `start`.
 */
size_t table_take(int fd, size_t bytes, size_t offset, size_t count, size_t start);

/* A process that holds a lock on some of these bytes, or 0: none, or one in another container. */
pid_t table_holder(int fd, size_t count, size_t offset);

/* What log_trouble() reports, with the reason why there is no table, or why it can't be used. */
#define TABLE_TROUBLE "no table of slots"

/* ---- sources, slots.c ------------------------------------------------------------------------ */

struct source source_of(const struct peer *peer);

/* False for this host, whose proxies may carry anybody's connections: it has no penalty. */
bool source_is_remote(const struct source *source);

/* ---- the victim, slots.c --------------------------------------------------------------------- */

/*
 * The index of the slot to evict, or `count` if there is none. First come those of a group of
 * sources that has more than its share, a sixteenth of the slots: of the largest /48 or IPv4 /24,
 * in it of the largest /56, /64 and address. Among these, connections without a key exchange come
 * first, then the others, the oldest first; but silent ones of the younger half come last. `random`
 * decides among equals, and while others are evicted (SLOT_EVICTED) among as many more of the
 * oldest, but not of the younger half: so new connections that come at the same moment do not all
 * choose the same one. `count` is at most 2 * LIMIT_SLOTS. With `only`, just connections of this
 * source's network are looked at.
 */
size_t slots_victim(const struct slot *slots, size_t count, const struct source *only,
                    uint32_t random);

/* ---- penalties, slots.c ---------------------------------------------------------------------- */

/* The source's penalty. A source that has none gets an empty one, in place of that which expires
 * first: in this copy of the table, until the caller writes it. */
struct penalty *penalty_of(struct penalty penalties[static LIMIT_PENALTIES],
                           const struct source *source, int64_t now_ms);

/* True if the penalty is so large that its source may evict nobody else's connection. */
bool penalty_confines(const struct penalty *penalty, int64_t now_ms);

/* Does nothing to a source that is trusted. */
void penalty_add(struct penalty *penalty, int64_t added_ms, int64_t now_ms);

/* After a login: clears it, also what others have caused, and trusts for LIMIT_TRUST_MS. */
void penalty_clear(struct penalty *penalty, int64_t now_ms);

#endif
