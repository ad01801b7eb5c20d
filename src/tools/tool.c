#include "tools.h"

#include <stdio.h>

#include "log.h"

int tool_printed(int result)
{
    if (result < 0) {
        log_trouble("could not write to stdout", NULL, strerror(errno));
    }
    return result < 0 ? EXIT_TROUBLE : 0;
}

int tool_answer(const struct flags *flags, int returned)
{
    if (returned != FLAGS_PAGE) {
        return flags_refuse_letter(flags, returned);
    }
    *flags->status = tool_printed(dprintf(STDOUT_FILENO, "%s", flags->value));
    return -1;
}
