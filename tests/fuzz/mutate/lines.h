/* The parts of lines of authorized_keys: lines, options and the texts in their quotes. */
#ifndef WREN_MUTATE_LINES_H
#define WREN_MUTATE_LINES_H

#include "mutate.h"

/* Lines between two places of the input. `parent` as in struct mutate_part. */
void lines_find(struct mutate_parts *parts, int parent, struct input input, size_t at, size_t end);

#endif
