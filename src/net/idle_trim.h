/*
 * Memory of an idle connection: after a burst of traffic or a key exchange, pages of empty buffers
 * and of the stack are returned to the kernel (process/memory.h).
 */
#ifndef WREN_IDLE_TRIM_H
#define WREN_IDLE_TRIM_H

#include <stdbool.h>

struct connection;

/* True if enough pages can be returned for a system call to pay. */
bool idle_trim_due(const struct connection *connection);

/* Returns all pages of empty buffers, and of the stack below the caller. */
void idle_trim(struct connection *connection);

/* The same, but only once after each key exchange and each start of a session: a bulk transfer,
 * which may be long, does not need what they have used. */
void idle_trim_before_bulk(struct connection *connection);

#endif
