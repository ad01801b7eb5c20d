/*
 * The lines of a file, through a buffer of fixed size.
 */
#ifndef WREN_LINES_H
#define WREN_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limit.h"
#include "reader.h"

struct lines {
    int fd;
    size_t start; /* [start, used) is read and not yet looked at */
    size_t used;
    bool ended;
    bool skipping;   /* behind the cut of an over-long line, up to its newline */
    bool skipped;    /* there was an over-long line */
    uint32_t number; /* of the line last returned, from 1 */
    char bytes[LIMIT_AUTHKEYS_LINE_BYTES];
};

void lines_init(struct lines *lines, int fd);

/*
 * Finds the next whole line, without its newline and a carriage return before that. An over-long
 * one is passed over with all that belongs to it. The line stands in the buffer until the next
 * call. Returns 1, 0 at the end, -1 with errno if the file could not be read.
 */
int lines_next(struct lines *lines, struct reader *line);

#endif
