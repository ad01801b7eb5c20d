/*
 * Directories: opendir() would allocate memory.
 */
#ifndef WREN_DIRS_H
#define WREN_DIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An entry as getdents64(2) writes it. */
struct dirs_entry {
    uint64_t inode;
    int64_t next; /* the place in the directory after this entry */
    uint16_t bytes;
    uint8_t type;
    char name[];
};

_Static_assert(offsetof(struct dirs_entry, name) == 19, "the kernel's struct linux_dirent64");

/* `list` is the descriptor by which the directory is read. */
typedef void dirs_visit(void *context, int list, int number);

/* Calls `visit` for each entry whose name is a number, as in /proc and /proc/self/fd. Returns false
 * if the directory cannot be opened, or after a read error. */
bool dirs_numbers(const char *path, dirs_visit *visit, void *context);

#endif
