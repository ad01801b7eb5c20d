/*
 * Ends all descendants of this process. The initramfs needs this before the system on the real root
 * starts.
 */
#ifndef WREN_DESCENDANTS_H
#define WREN_DESCENDANTS_H

#include <stdbool.h>

/* From now on, a descendant whose parent ends becomes our child, even if it has daemonized. Returns
 * NULL, or what the system lacks, as a text for the log. */
const char *descendants_adopt(void);

/* Kills all descendants and reaps them. Returns true when none is left, false if /proc is no longer
 * mounted. */
bool descendants_end(void);

#endif
