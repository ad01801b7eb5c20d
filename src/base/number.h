/*
 * Reads decimal numbers in options, environment variables, /proc and files. Only digits count: no
 * sign, no blank.
 */
#ifndef WREN_NUMBER_H
#define WREN_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most digits that number_read() takes. Every number of this length fits an int. */
#define NUMBER_MOST_DIGITS 9

/* Reads one to NUMBER_MOST_DIGITS digits, up to the NUL. False if `text` is anything else; then
 * `number` keeps its value. */
bool number_read(unsigned *number, const char *text);

/* Reads exactly `count` digits, one or more. False if one of the bytes is not a digit or if the
 * number is greater than `most`; then `number` keeps its value. */
bool number_parse(uint64_t *number, const void *digits, size_t count, uint64_t most);

#endif
