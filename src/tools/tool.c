#include "tools.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "exits.h"
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
