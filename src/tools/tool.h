/*
 * What the commands of tools.h share: their arguments, their messages, their output.
 */
#ifndef WREN_TOOL_H
#define WREN_TOOL_H

#include <stdbool.h>

struct tool {
    const char *name;
    const char *flags; /* as in struct flags' `known` (flags.h) */
    const char *help;
    bool quiet;
    const char *value; /* of the flag that takes one, or NULL */
    const char *keydir;
};

/* Reads the arguments. Returns 0 to go on, or -1 to exit with *status. */
int tool_parse(struct tool *tool, char **argv, int *status);

/* Prints on stderr what is wrong, and the help. Returns exit code 100. */
int tool_refuse(const struct tool *tool, const char *what);

/* Writes a text to stdout. Returns 0, or exit code 111 after logging the error. */
int tool_print(const char *text);

#endif
