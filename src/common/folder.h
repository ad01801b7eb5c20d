/*
 * Folders of numbers: /proc and /proc/self/fd. opendir() would allocate.
 */
#ifndef WREN_FOLDER_H
#define WREN_FOLDER_H

#include <stdbool.h>

/* `list` is the descriptor by which the folder is read. */
typedef void folder_visit(void *context, int list, int number);

/* Calls `visit` for each entry whose name is a number. False if the folder can't be opened, or
 * reading it breaks off. */
bool folder_numbers(const char *path, folder_visit *visit, void *context);

#endif
