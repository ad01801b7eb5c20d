/*
 * What a forked child does first: nothing of the monitor's may stay with it.
 */
#ifndef WREN_DESCRIPTORS_H
#define WREN_DESCRIPTORS_H

/* Closes every descriptor from `first` on; on kernels before 5.9 without /proc, up to 65535. */
void descriptors_close_from(int first);

/* All signals at their default disposition, none blocked: launchers hand over ignored ones, and an
 * ignored signal would stay ignored in every program of the session. */
void signals_reset(void);

#endif
