/*
 * The source of random bytes: getrandom(), or /dev/urandom on kernels before 3.17. libsodium uses
 * this source instead of its own, for two reasons: its own differs from build to build; and on old
 * kernels it keeps a descriptor whose number we do not choose. We might put another file under that
 * number, and libsodium would take its bytes for random ones.
 */
#ifndef WREN_ENTROPY_H
#define WREN_ENTROPY_H

#include <stdbool.h>

#include "descriptor_numbers.h"

/* Any number. */
#define ENTROPY_ANYWHERE (-1)

/* The exit code of a process that can get no more random bytes: it never uses others. */
#define ENTROPY_EXIT 111

/*
 * Finds the source and makes libsodium use it; to be called before sodium_init(). Waits until the
 * kernel's random pool is initialized: at most `seconds`, or without limit if 0. Uses SIGALRM while
 * it waits for getrandom().
 *
 * If the source is /dev/urandom, it is opened as `descriptor`, close-on-exec, and stays open; a
 * file under that number is closed. Returns false and logs why if there is no source, or if it is
 * not ready in time.
 */
bool entropy_start(int descriptor, unsigned seconds);

/* True if the source is /dev/urandom: its descriptor must stay open. */
bool entropy_is_descriptor(void);

/* For a process that needs no more random bytes: closes the descriptor, if there is one. A later
 * request for random bytes ends the process with ENTROPY_EXIT. */
void entropy_stop(void);

#endif
