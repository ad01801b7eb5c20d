#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exits.h"
#include "flags.h"
#include "log.h"

int tool_print(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t written = write(STDOUT_FILENO, text, left);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            log_trouble("could not write to stdout", NULL, strerror(errno));
            return EXIT_TROUBLE;
        }
        text += written;
        left -= (size_t)written;
    }
    return 0;
}

int tool_refuse(const struct tool *tool, const char *what)
{
    dprintf(STDERR_FILENO, "%s: %s\n%s", tool->name, what, tool->help);
    return EXIT_USAGE;
}

int tool_parse(struct tool *tool, char **argv, int *status)
{
    struct flags flags = {.known = tool->flags, .rest = argv + 1};
    int flag;
    char wrong[40];
    log_name(tool->name);
    while ((flag = flags_next(&flags)) != FLAGS_END) {
        switch (flag) {
        case 'q':
            tool->quiet = true;
            break;
        case 'h':
            *status = tool_print(tool->help);
            return -1;
        case 'V':
            *status = tool_print("wrensshd " WREN_VERSION "\n");
            return -1;
        case 'i':
        case 'r':
            tool->value = flags.value;
            break;
        default:
            snprintf(wrong, sizeof(wrong),
                     flag == FLAGS_NO_VALUE ? "flag -%c needs an argument" : "unknown flag -%c",
                     flags.letter);
            *status = tool_refuse(tool, wrong);
            return -1;
        }
    }
    tool->keydir = flags.rest[0];
    if (tool->keydir == NULL || flags.rest[1] != NULL) {
        *status = tool_refuse(tool, tool->keydir == NULL ? "no key directory"
                                                         : "more than one key directory");
        return -1;
    }
    return 0;
}
