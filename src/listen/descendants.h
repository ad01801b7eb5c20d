/*
 * All processes that descend from this one, ended for certain: what the initramfs needs before the
 * real root starts.
 */
#ifndef WREN_DESCENDANTS_H
#define WREN_DESCENDANTS_H

#include <stdbool.h>

/* From here on processes whose parent ends become our children, however they have parted from it.
 * Returns NULL, or what the system lacks, in words. */
const char *descendants_adopt(void);

/* Kills all children, their children, and so on; returns true when none of them is left, false if
 * /proc has gone. */
bool descendants_end(void);

#endif
