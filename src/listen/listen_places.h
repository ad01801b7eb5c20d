/*
 * The connections of wrensshd-listen: who has one, which of them have logged in, and whom the
 * places that are left are for. A program that does not say what status.h has is none the worse for
 * it: its connections are all counted alike.
 */
#ifndef WREN_LISTEN_PLACES_H
#define WREN_LISTEN_PLACES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "limit.h"
#include "status.h"

enum place_state {
    PLACE_FREE = 0,
    PLACE_STARTED,      /* nothing was said yet */
    PLACE_BEFORE_LOGIN, /* STATUS_HERE was said */
    PLACE_LOGGED_IN,
    PLACE_UNKNOWN, /* the program has closed the pipe without a word, or got none */
};

struct place {
    enum place_state state;
    enum status ending; /* how it will have ended, unless there is a login */
    pid_t child;
    int status; /* the pipe's reading end, or -1 */
    struct in6_addr source;
};

/* Before the login, drop `percent` of the new connections at `start`, more above, all at `full`. */
struct early_drop {
    unsigned start, percent, full;
};

struct places {
    unsigned most, most_from_one;
    struct early_drop drop;
    bool alike;  /* connections before the login have no limit of their own */
    bool spoken; /* the last program that could has said something */
    unsigned open;
    struct place table[LIMIT_LISTEN_CONNECTIONS]; /* the first `most` are used */
};

/* How many connections a machine with so many bytes of memory bears that have not logged in. */
unsigned places_of_memory(uint64_t bytes);

/* Chances in a hundred that a connection more is dropped where `count` have not logged in. */
unsigned places_drop_percent(const struct early_drop *drop, unsigned count);

/* Why one more connection from `source` is refused, or NULL. `draw` is a number from 0 to 99 that
 * nobody can foresee. */
const char *places_refuse(const struct places *places, const struct in6_addr *source,
                          unsigned draw);

/* Takes a place that is free. `status` is the reading end of the child's pipe, or -1; places_free()
 * closes it. */
void places_take(struct places *places, const struct in6_addr *source, pid_t child, int status);

/* Reads what the child has said, and learns from it whether the program says anything. Returns true
 * if the daemon has ended without a login, by its last byte or the pipe's end: the place is to be
 * freed. */
bool places_hear(struct places *places, struct place *place);

/* The place of a child that has ended, or NULL. */
struct place *places_find(struct places *places, pid_t child);

/* Frees a place, and learns the same. */
void places_free(struct places *places, struct place *place);

#endif
