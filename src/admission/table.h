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

/* Both return false unless all bytes are read or, with errno, written. */
bool table_read(int fd, void *bytes, size_t count, size_t offset);
bool table_write(int fd, const void *bytes, size_t count, size_t offset);

/* The lock on these bytes, which the process holds until it gives it up, closes any descriptor of
 * the file, or ends. Never waits: false if another process holds it. Where the kernel refuses
 * locks, all is free. */
bool table_lock(int fd, size_t count, size_t offset);
void table_unlock(int fd, size_t count, size_t offset);

/* Locks one of `count` records of `bytes` bytes, from `offset` on, and returns its number, or
 * `count` if others hold all. Begins at one that depends on `start`. */
size_t table_take(int fd, size_t bytes, size_t offset, size_t count, size_t start);

/* A process that holds a lock on some of these bytes, or 0: none, or one in another container. */
pid_t table_holder(int fd, size_t count, size_t offset);

/* What log_trouble() reports, with the reason why there is no table, or why it can't be used. */
#define TABLE_TROUBLE "no table of places"

#endif
