/* What every file of unit tests provides. */
#ifndef WREN_UNIT_H
#define WREN_UNIT_H

#include <check.h>
#include <stdbool.h>

Suite *unit_suite(void);

/* True under Meson's exe_wrapper, an emulator of single programs: it is slow, knows not every
 * system call and loses descriptors that are passed beyond what the receiver has room for. */
bool unit_is_emulated(void);

#endif
