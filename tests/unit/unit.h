/* What every file of unit tests provides. */
#ifndef WREN_UNIT_H
#define WREN_UNIT_H

#include <check.h>
#include <stdbool.h>

/* Check writes the place of each assertion that holds to a file. That is a system call each, and
 * some programs make 300,000 of them. Without it, the report of a crash names the start of the
 * test. */
void unit_no_mark(void);
#define _mark_point(file, line) unit_no_mark()

/* A macro's number as text: signals have other ones on MIPS. */
#define TEXT_OF(macro)       TEXT_OF_DIGITS(macro)
#define TEXT_OF_DIGITS(text) #text

Suite *unit_suite(void);

/* True under Meson's exe_wrapper, an emulator of single programs: it is slow, knows not every
 * system call and loses descriptors that are passed beyond what the receiver has room for. */
bool unit_is_emulated(void);

/* True in an emulator and in sanitizer builds (tests/unit/meson.build): a test that compares all
 * combinations takes some of them. */
bool unit_is_slow(void);

#endif
