/*
 * The long name of READDIR: a line as `ls -l` shows it, which clients print as it is.
 */
#ifndef WREN_LISTING_H
#define WREN_LISTING_H

#include <stddef.h>
#include <sys/stat.h>

/* The longest line: a name of 255 bytes, two owners, a mode, two numbers and a date. */
#define LISTING_BYTES 512

/* Reads the time zone and the time. To be called before the sandbox, and from time to time: a file
 * that is older than half a year is listed with its year. */
void listing_begin(void);
void listing_set_now(void);

/* Writes the line, without a NUL, and returns its length. */
size_t listing_write(char line[static LISTING_BYTES], const char *name, const struct stat *status);

#endif
