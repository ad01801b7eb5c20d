/*
 * The text of a path: nothing here asks the file system.
 */
#ifndef WREN_PATH_TEXT_H
#define WREN_PATH_TEXT_H

#include <stdbool.h>

#include "paths.h"

/* Cuts slashes off the end of an absolute path, and ends it before its last name. Returns that
 * name, which is empty for "/". */
char *path_cut_last(char *path);

/* True for "", "." and "..". */
bool path_is_dots(const char *name);

/* True if an absolute path has all the parts of a directory's path at its start. "/" is the start
 * of none. */
bool path_begins_with(const char *path, const char *directory);

/* Puts `first` before `rest`, which is empty or begins with a slash. Returns 0 or ENAMETOOLONG. */
int path_prepend(char rest[static PATH_BYTES], const char *first);

#endif
