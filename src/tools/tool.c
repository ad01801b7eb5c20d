#include "tools.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "log.h"

int tool_printed(int result)
{
    if (result < 0) {
        log_trouble("could not write to stdout", NULL, strerror(errno));
    }
    return result < 0 ? EXIT_TROUBLE : 0;
}

int tool_print(const char *text)
{
    return tool_printed(dprintf(STDOUT_FILENO, "%s", text));
}
