#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "tools.h"

#define EXIT_USAGE   100
#define EXIT_TROUBLE 111

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

int tool_parse(struct tool *tool, int argc, char **argv, int *status)
{
    int letter;
    char wrong[40];
    log_name(tool->name);
    opterr = 0;
    while ((letter = getopt(argc, argv, tool->letters)) != -1) {
        switch (letter) {
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
            tool->value = optarg;
            break;
        default:
            snprintf(wrong, sizeof(wrong),
                     letter == ':' ? "flag -%c needs an argument" : "unknown flag -%c", optopt);
            *status = tool_refuse(tool, wrong);
            return -1;
        }
    }
    if (argc - optind != 1) {
        *status =
            tool_refuse(tool, argc == optind ? "no key directory" : "more than one key directory");
        return -1;
    }
    tool->keydir = argv[optind];
    return 0;
}
