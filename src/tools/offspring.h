/*
 * All processes that descend from this one, ended for certain: what the initramfs needs before the
 * real root starts.
 */
#ifndef WREN_OFFSPRING_H
#define WREN_OFFSPRING_H

#include <stdbool.h>

/* From here on processes whose parent ends become our children, however they have parted from it.
 * Returns false on kernels before 3.4. */
bool offspring_adopt(void);

/* Kills all children, their children, and so on; returns true when none of them is left. False if
 * that can't be known because there is no /proc: then only children have been killed that
 * `children` names, `count` of them, where 0 stands for none. */
bool offspring_end(const int *children, int count);

#endif
