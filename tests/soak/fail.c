/*
 * In place of the lean client's fail.c: here a connection that fails ends, and its worker goes on.
 */
#include "fail.h"

#include <stdarg.h>
#include <stdio.h>

#include "life.h"

jmp_buf soak_failed;
char soak_said[200];

void fail(const char *place, const char *format, ...)
{
    char words[150];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof(words), format, arguments);
    va_end(arguments);
    snprintf(soak_said, sizeof(soak_said), "%.40s: %s", place, words);
    longjmp(soak_failed, 1);
}
