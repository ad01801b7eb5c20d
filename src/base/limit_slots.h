/*
 * The limits of admission: how many connections before their login fit a machine, how many after
 * it, and who has to go. As in limit.h, each has its reason.
 */
#ifndef WREN_LIMIT_SLOTS_H
#define WREN_LIMIT_SLOTS_H

#include <stdint.h>
#include <sys/param.h>

#include "limit.h"

/* ---- admission, before the login ------------------------------------------------------------- */

/* Slots of connections before their login, on one host: the memory divided by the second number,
 * within the other two. A silent connection costs 267 KiB, so all of them take a sixteenth of the
 * memory, and an eighth while others end. Memory that the kernel itself uses does not count: of 64
 * MiB some 35 MiB are left, and programs use most of these. With twice as many slots, and as many
 * connections as fit them, such a board ran out of memory. With fewer than the least, a few silent
 * clients could use them up. */
#define LIMIT_SLOTS             128
#define LIMIT_SLOT_MEMORY_BYTES 4194304
#define LIMIT_SLOTS_LEAST       8

/* No group of sources is singled out for eviction up to all slots, spare ones included,
 * divided by this: a sixteenth of the limit, enough for an office behind one address. */
#define LIMIT_SLOTS_SHARE 32

/* What a connection without a login adds to its source's penalty, by its end. A client with a full
 * agent has its keys refused. A port scan or ssh-keyscan tries no key, and one that was evicted has
 * had no time to. A client that only keeps the connection open reaches the deadline. */
#define LIMIT_PENALTY_REFUSED_MS  3000
#define LIMIT_PENALTY_NOTHING_MS  1000
#define LIMIT_PENALTY_DEADLINE_MS 10000

/* A source with a greater penalty than the first number evicts none but its own: after eleven
 * connections with refused keys in a short time, or four that were silent until the deadline. No
 * penalty is greater than the second. The third is the number of entries, which each new connection
 * reads: a new one replaces that which expires first. */
#define LIMIT_PENALTY_FREE_MS 30000
#define LIMIT_PENALTY_MOST_MS 60000
#define LIMIT_PENALTIES       128

/* After a login its source has no penalties for this time: others behind the same address do not
 * keep its users out. */
#define LIMIT_TRUST_MS 3600000

/* At most one line about refused sources in this time; it has the number of the others. After the
 * second time without evictions an attack is over: a new connection reports how many there were. */
#define LIMIT_REFUSAL_LINE_MS   1000
#define LIMIT_EVICTION_QUIET_MS 60000

/* A client that has sent nothing has the whole time of -t while no more than the first number of
 * others have exchanged no keys: an office that connects at the same moment. From the second number
 * on it has only the third, and between them it falls: a launcher that allows 40 connections, the
 * default of tcpserver, never fills its slots here, and a queue in front of it must move. Any
 * client that is there has sent its identification line by then. From its first byte on it has the
 * whole time: 60 clients at once on a busy machine took 20 s. The fourth number: so often each
 * looks. The time counts from our greeting, for which a busy machine may need long. */
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

/* Connections after their login: of one user 288 on a large machine, what a launcher left for a
 * forge whose logins are all one user's; of all users half as many again, so that one user can't
 * take them all. The memory of the first LIMIT_LOGINS_WITHOUT slots counts for no login: of a board
 * of 64 MiB the kernel and the system take that. There 9 sessions with our SFTP server, 459 KiB
 * each, left 5 MiB free; with 14 there was no memory for a new connection. */
#define LIMIT_LOGINS_OF_USER 288
#define LIMIT_LOGINS         432
#define LIMIT_LOGINS_WITHOUT 4

/* Of those of all users, one for so many slots is the reserve, for administrators. */
#define LIMIT_LOGINS_RESERVE 4

/* LIMIT_SLOTS, or fewer on a machine with little memory. */
static inline unsigned limit_slots(uint64_t memory_bytes)
{
    return (unsigned)MIN(MAX(memory_bytes / LIMIT_SLOT_MEMORY_BYTES, LIMIT_SLOTS_LEAST),
                         LIMIT_SLOTS);
}

/* LIMIT_LOGINS_OF_USER or LIMIT_LOGINS, for so many slots before the login. */
static inline unsigned limit_logins(unsigned slots, unsigned most)
{
    return (slots - LIMIT_LOGINS_WITHOUT) * most / (LIMIT_SLOTS - LIMIT_LOGINS_WITHOUT);
}

/* What the daemon admits: before the login twice the slots, half of them while others are evicted,
 * and all that have logged in. Launchers start no more. A process that has no slot yet costs a
 * board 105 KiB, and strangers can make that many start at once. Beside 43 of them and a login a
 * board of 64 MiB had no memory left, beside 29 usually 2 MiB; else the kernel ends some of them,
 * see LIMIT_OOM_SCORE in limit.h. */
static inline unsigned limit_connections(unsigned slots)
{
    return 2 * slots + limit_logins(slots, LIMIT_LOGINS);
}

#endif
