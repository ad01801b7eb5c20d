/*
 * A child that is about to become another program.
 */
#ifndef WREN_CHILD_H
#define WREN_CHILD_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Starts a child that runs `become(argument, room)`, which ends in exec() or _exit(). `room` is
 * `room_bytes` of zeros, aligned for any type, that only the child has.
 *
 * Not with fork(): to copy our memory for the exec to throw it away, and the faults of both sides
 * on the copy, were a third of what starting a program cost. Until then the child has our memory
 * and a stack of its own. It may write nothing but that stack and the room; errno is the exception.
 * Signal handlers of ours could run in it: there must be none. What is large belongs into the room:
 * the compiler probes each page of a large frame, and the kernel would make all of them.
 *
 * We stand still until its exec: on a file system that hangs, for as long as it does, and with us
 * all sessions of the connection. The network process still sees the client go.
 *
 * Returns its pid, or -1 with errno.
 */
pid_t child_start(int (*become)(void *argument, void *room), void *argument, size_t room_bytes);

#endif
