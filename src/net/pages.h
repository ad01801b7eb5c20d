/*
 * What a burst of traffic and a key exchange leave behind: pages of buffers that hold nothing any
 * more, and of the stack. A connection that rests gives them back (common/memory.h).
 */
#ifndef WREN_PAGES_H
#define WREN_PAGES_H

#include <stdbool.h>

struct connection;

/* True if there are pages worth a system call. */
bool pages_to_spare(const struct connection *connection);

/* Gives back all pages of empty buffers, and of the stack below the caller. */
void pages_give_back(struct connection *connection);

#endif
