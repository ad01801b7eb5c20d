/*
 * Decimal numbers, as users, launchers and /proc write them.
 */
#ifndef WREN_NUMBER_H
#define WREN_NUMBER_H

#include <stdbool.h>

/* More digits than this are no number here, and nothing needs them. */
#define NUMBER_MOST_DIGITS 9

/* True if all of `text` is one to NUMBER_MOST_DIGITS digits: no sign, no blank. Otherwise `number`
 * stays as it is. */
bool number_read(unsigned *number, const char *text);

#endif
