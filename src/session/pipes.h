/*
 * The pipes between a program and the network process: both ends of each, for the moment between
 * making them and giving them away.
 */
#ifndef WREN_PIPES_H
#define WREN_PIPES_H

#include <stdbool.h>

#define PIPES 4

/* [0] stdin, [1] stdout, [2] stderr, [3] exit pipe. -1 where there is none. */
struct pipes {
    int ours[PIPES];   /* the network process's; they do not block */
    int theirs[PIPES]; /* the program's; of the exit pipe the monitor's */
};

/* On a terminal a program has no pipe but the last. Returns 0, or -1 with errno set and nothing
 * left open. All are closed on exec. */
int pipes_open(struct pipes *pipes, bool on_terminal);

/* Closes those that are open. */
void pipes_close(int ends[static PIPES]);

/* The same for one, or for any descriptor; it is -1 from then on. */
void pipes_close_end(int *fd);

#endif
