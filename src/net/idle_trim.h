/*
 * What a burst of traffic and a key exchange leave behind: pages of buffers that hold nothing any
 * more, and of the stack. A connection that rests gives them back (common/memory.h).
 */
#ifndef WREN_IDLE_TRIM_H
#define WREN_IDLE_TRIM_H

#include <stdbool.h>

struct connection;

/* True if there are pages worth a system call. */
bool idle_trim_due(const struct connection *connection);

/* Gives back all pages of empty buffers, and of the stack below the caller. */
void idle_trim(struct connection *connection);

#endif
