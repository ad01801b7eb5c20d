/* What the unit tests of the log and of the monitor share: a scratch directory and a captured
 * stderr. */
#ifndef WREN_UNIT_SCRATCH_H
#define WREN_UNIT_SCRATCH_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

/* What goes to stderr until capture_end() is kept: up to a pipe's worth. */
void capture_begin(void);
size_t capture_end(char *out, size_t out_bytes);

void assert_contains(const char *text, const char *wanted);
void assert_lacks(const char *text, const char *unwanted);

/* A fresh directory, mode 0755, until the end of the test. Below it nothing is group-writable:
 * umask 022. */
#define SCRATCH_BYTES 256
void scratch_make(char out[static SCRATCH_BYTES]);

/* Writes a file below the scratch directory, replacing what is there. */
void scratch_write(const char *directory, const char *name, const void *bytes, size_t count,
                   mode_t mode);

/* Removes all that scratch_make() has made; main.c calls it after each test. */
void scratch_remove(void);

#endif
