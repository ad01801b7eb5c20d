/*
 * The file with the table of places (places.h): where it is, how it is made and read.
 */
#ifndef WREN_TABLE_H
#define WREN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "places.h"

/* Opens the table of processes with this effective uid, and reads its front; makes it if there is
 * none, and replaces one of another version. Returns -1 if there can be none; the reason is logged,
 * unless there is no XDG_RUNTIME_DIR. */
int table_open(struct places_front *front, uid_t uid);

bool table_read_front(int fd, struct places_front *front);

/* Returns false, with errno, unless all bytes are written. */
bool table_write(int fd, const void *bytes, size_t count, size_t offset);

/* Logs why there is no table, or why it can't be used. */
void table_log_trouble(const char *path, const char *reason);

#endif
