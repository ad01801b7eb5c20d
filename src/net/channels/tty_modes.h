/*
 * Terminal modes on the wire (RFC 4254 section 8) to Linux's termios.
 */
#ifndef WREN_TTY_MODES_H
#define WREN_TTY_MODES_H

#include <stdbool.h>
#include <termios.h>

#include "reader.h"

/*
 * Starts from what Linux gives a new terminal and applies the encoded modes: opcodes 1 to 159 with
 * a uint32 each, ended by opcode 0, by one above 159 (undefined by the RFC: parsing stops), or by
 * the end of the string. Opcodes that Linux does not know are skipped. False if an argument is cut
 * off.
 */
bool tty_modes_read(struct reader *encoded, struct termios *modes);

#endif
