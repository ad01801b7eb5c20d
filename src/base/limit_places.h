/*
 * How many connections before their login fit a machine, and how many after it: what limit.h has no
 * room for, and what depends on the memory.
 */
#ifndef WREN_LIMIT_PLACES_H
#define WREN_LIMIT_PLACES_H

#include <stdint.h>
#include <sys/param.h>

#include "limit.h"

/* A silent connection has the whole time of -t while no more than the first number of others are
 * silent: an office that connects at the same moment. From the second number on it has only the
 * third, and between them it falls: a launcher that allows 40 connections, the default of
 * tcpserver, never fills its slots here, and a queue in front of it must move. Any client that is
 * there has sent its key exchange by then; even one with 12 kbit/s and 600 ms needs no more than
 * 4 s, and gets them unless many are silent. The fourth number: so often each looks. */
#define LIMIT_SILENT_FEW     8
#define LIMIT_SILENT_MANY    24
#define LIMIT_SILENT_MS      2000
#define LIMIT_SILENT_LOOK_MS 1000

/* On a busy machine we answer late ourselves: that least time grows by so many times the time from
 * a connection's start until our greeting. */
#define LIMIT_SILENT_SETUPS 4

/* A new connection that finds all slots taken tries to evict one so often. Each failed try means
 * that others evict at the same moment, and they make room for it too. */
#define LIMIT_EVICTION_TRIES 3

/* ---- admission, after the login -------------------------------------------------------------- */

/* Connections after their login, for each eight slots before it. Of one user: 288 on a large
 * machine, what a launcher left for a forge whose logins are all one user's, and 18 on a board,
 * which is more than fit its memory with their programs. Of all users: half as many again, so that
 * one user can't take them all. Of these the reserve is for administrators. */
#define LIMIT_LOGINS_OF_USER 18
#define LIMIT_LOGINS_OF_ALL  27
#define LIMIT_LOGINS_RESERVE 2
#define LIMIT_LOGINS_SLOTS   8
#define LIMIT_LOGINS         (LIMIT_PLACES * LIMIT_LOGINS_OF_ALL / LIMIT_LOGINS_SLOTS)

/* LIMIT_PLACES, or fewer on a machine with little memory. */
static inline unsigned limit_places(uint64_t memory_bytes)
{
    return (unsigned)MIN(MAX(memory_bytes / LIMIT_PLACE_MEMORY_BYTES, LIMIT_PLACES_LEAST),
                         LIMIT_PLACES);
}

/* LIMIT_LOGINS_OF_USER and its neighbours, for so many slots before the login. */
static inline unsigned limit_logins(unsigned slots, unsigned for_eight)
{
    return slots * for_eight / LIMIT_LOGINS_SLOTS;
}

/* What the daemon admits: before the login twice the slots, half of them while others are evicted,
 * and all that have logged in. */
static inline unsigned limit_connections(unsigned slots)
{
    return 2 * slots + limit_logins(slots, LIMIT_LOGINS_OF_ALL);
}

#endif
