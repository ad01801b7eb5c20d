/*
 * What a burst of traffic leaves behind: pages of buffers that hold nothing any more. A connection
 * that rests gives them back; the kernel hands out zeros when they are touched again.
 */
#ifndef WREN_PAGES_H
#define WREN_PAGES_H

#include <stdbool.h>

struct connection;

/* True if there are pages worth a system call. */
bool pages_to_spare(const struct connection *connection);

/* Gives back all pages of empty buffers. */
void pages_give_back(struct connection *connection);

#endif
