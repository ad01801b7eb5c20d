/*
 * The descriptors between a program and the network process: its standard streams, on pipes or on a
 * pseudo-terminal, and the exit pipe, which reports how the program ended.
 */
#ifndef WREN_STREAMS_H
#define WREN_STREAMS_H

#include <stdbool.h>

#include "ipc.h"

/* ---- pipes ----------------------------------------------------------------------------------- */

enum { STREAM_STDIN, STREAM_STDOUT, STREAM_STDERR, STREAM_EXIT, STREAMS };

/* Both ends of each pipe, from their opening until they are passed on. -1 where there is none. */
struct streams {
    int ours[STREAMS];   /* for the network process; non-blocking */
    int theirs[STREAMS]; /* for the program; of the exit pipe, for this process */
};

/* Opens all four pipes, close-on-exec; on a terminal only the exit pipe. Returns 0, or -1 with
 * errno and nothing left open. */
int streams_open(struct streams *streams, bool on_terminal);

/* Closes the ends that are open, and sets them to -1. */
void streams_close(int ends[static STREAMS]);

/* Closes one descriptor if it is open, and sets it to -1. */
void streams_close_one(int *fd);

/* ---- pseudo-terminals ------------------------------------------------------------------------ */

/* "/dev/pts/" and a number. */
#define TERMINAL_NAME_BYTES 32

/*
 * Opens a pseudo-terminal with the requested modes and size; the kernel checks both. The user owns
 * it, because this process runs as the user. Sets *slave (blocking) and its name. It does not
 * become the controlling terminal of this process.
 * Returns the master, non-blocking, or -1 with errno.
 */
int streams_open_terminal(int *slave, char name[static TERMINAL_NAME_BYTES],
                          const struct ipc_pty *request);

#endif
