/*
 * Reads a file, line by line or in pieces, through a buffer of fixed size.
 */
#ifndef WREN_LINES_H
#define WREN_LINES_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limit.h"
#include "reader.h"

/* True for what READER_BLANKS lists. */
static inline bool lines_is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

struct lines {
    int fd;
    size_t start; /* bytes[start..used) are read and not yet returned */
    size_t used;
    bool ended;
    bool skipping;   /* in a line that is too long, up to its newline */
    bool too_long;   /* the last line returned is too long for the buffer: it is empty */
    uint32_t number; /* of the last line returned, counted from 1 */
    char bytes[LIMIT_AUTHKEYS_LINE_BYTES];
};

/* While it is not 0, further reads fail. A signal handler sets it. */
extern volatile sig_atomic_t lines_stopped;

void lines_init(struct lines *lines, int fd);

/*
 * Finds the next line, without its newline and a carriage return before it. Leaves out UTF-8's
 * byte-order mark at the start of the file: editors write it, and it is invisible. The line is
 * valid until the next call. Returns 1, 0 at the end of the file, or -1 with errno if a read
 * failed.
 */
int lines_next(struct lines *lines, struct reader *line);

/* For a file without lines: takes its next `count` bytes, which are valid until the next call. NULL
 * if the buffer has no room for so many, if the file ends before (then `ended` is set), or with
 * errno if a read failed. */
const uint8_t *lines_bytes(struct lines *lines, size_t count);

#endif
