/*
 * Where random bytes come from: getrandom(), or /dev/urandom on kernels before 3.17. libsodium is
 * told to ask us. Its own ways differ from build to build, and the one for old kernels keeps a
 * descriptor of a number that nobody has chosen: what is placed there later would be read in place
 * of random bytes.
 */
#ifndef WREN_ENTROPY_H
#define WREN_ENTROPY_H

#include <stdbool.h>

#include "ipc.h"

/* What /dev/urandom is open under in the network process, where there is no getrandom(). */
#define ENTROPY_DESCRIPTOR (NULL_DESCRIPTOR + 1)

/* Any number will do. */
#define ENTROPY_ANYWHERE (-1)

/* How a process ends that has lost its source: it never goes on with other bytes. */
#define ENTROPY_EXIT 111

/*
 * Finds the source and sets libsodium to it; to be called before sodium_init(). Waits until the
 * kernel's pool has been filled for the first time, at most `seconds`; 0 is without end. Uses
 * SIGALRM while it waits for getrandom().
 *
 * If it has to be /dev/urandom, that is opened as `descriptor`, close-on-exec, in place of what may
 * be there, and stays open. Returns false, after a line in the log, if there is no source or it
 * isn't ready in time.
 */
bool entropy_start(int descriptor, unsigned seconds);

/* True if the source is a descriptor, which must stay open. */
bool entropy_is_descriptor(void);

/* For a process that needs no random bytes any more: closes the descriptor, if there is one. Who
 * asks for bytes all the same ends with ENTROPY_EXIT. */
void entropy_stop(void);

#endif
