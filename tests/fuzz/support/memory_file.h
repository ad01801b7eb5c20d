/*
 * Files in memory, for readers that get a descriptor. A target that uses them is linked with
 * -Wl,--wrap=read,--wrap=close. The kernel may give a reader its file in pieces of any size, and
 * may interrupt it: neither may change what the reader finds.
 */
#ifndef WREN_MEMORY_FILE_H
#define WREN_MEMORY_FILE_H

#include "fuzz.h"

#define MEMORY_FILES 7

/*
 * Opens file `number` and returns its descriptor. Each byte of `pieces` is the result of one
 * read(): 0 is EINTR, 255 is all that was asked for, any other at most so many bytes. After the
 * last, each read() gets all that it asks for.
 */
int memory_file_open(unsigned number, struct input bytes, struct input pieces);

/* How many of the files are open. */
unsigned memory_files_open(void);

/* From now on the file can't be read beyond this offset: read() fails with EIO. */
void memory_file_break(int fd, size_t offset);

#endif
