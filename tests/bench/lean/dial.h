/*
 * The two ways to a server: connecting to a listening one, and starting one on a socket of its own
 * as inetd does.
 */
#ifndef LEAN_DIAL_H
#define LEAN_DIAL_H

#include <sys/types.h>

/* A connected TCP socket, TCP_NODELAY on. */
int dial_connect(const char *host, const char *port);

/* One end of a socket pair whose other end is the program's standard input and output. */
int dial_program(char *const *program, pid_t *child);

/* Waits for the program to exit; fails if that takes it more than some seconds. */
void dial_reap(pid_t child);

#endif
