/*
 * Directories whose entries are numbers: /proc and /proc/self/fd. opendir() would allocate memory.
 */
#ifndef WREN_DIRS_H
#define WREN_DIRS_H

#include <stdbool.h>

/* `list` is the descriptor by which the directory is read. */
typedef void dirs_visit(void *context, int list, int number);

/* Calls `visit` for each entry whose name is a number. Returns false if the directory cannot be
 * opened, or after a read error. */
bool dirs_numbers(const char *path, dirs_visit *visit, void *context);

#endif
