#include "fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void fail(const char *place, const char *format, ...)
{
    va_list arguments;
    fflush(stdout);
    fprintf(stderr, "wren-lean: %s: ", place);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}
