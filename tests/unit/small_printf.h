/* src/static/printf.c under names of its own, beside libc's. */
#ifndef WREN_SMALL_PRINTF_H
#define WREN_SMALL_PRINTF_H

#include <stddef.h>
#include <sys/types.h>

int small_snprintf(char *out, size_t out_bytes, const char *text, ...);
int small_dprintf(int fd, const char *text, ...);

/* The test's, in the place of write(). */
ssize_t small_write(int fd, const void *bytes, size_t count);

#endif
