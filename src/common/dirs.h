/*
 * Folders of numbers: /proc and /proc/self/fd. opendir() would allocate.
 */
#ifndef WREN_DIRS_H
#define WREN_DIRS_H

#include <stdbool.h>

/* `list` is the descriptor by which the folder is read. */
typedef void dirs_visit(void *context, int list, int number);

/* Calls `visit` for each entry whose name is a number. False if the folder can't be opened, or
 * reading it breaks off. */
bool dirs_numbers(const char *path, dirs_visit *visit, void *context);

#endif
