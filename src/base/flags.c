#include "flags.h"

#include <stddef.h>
#include <string.h>

int flags_next(struct flags *flags)
{
    if (flags->within == NULL || *flags->within == '\0') {
        const char *argument = *flags->rest;
        if (argument == NULL || argument[0] != '-' || argument[1] == '\0') {
            return FLAGS_END;
        }
        flags->rest++;
        if (strcmp(argument, "--") == 0) {
            return FLAGS_END;
        }
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "--version") == 0) {
            return argument[2] == 'h' ? 'h' : 'V';
        }
        flags->within = argument + 1;
    }
    flags->letter = (unsigned char)*flags->within++;
    const char *known = flags->letter != ':' ? strchr(flags->known, flags->letter) : NULL;
    if (known == NULL) {
        return FLAGS_UNKNOWN;
    }
    if (known[1] != ':') {
        return flags->letter;
    }
    flags->value = flags->within;
    flags->within = NULL;
    if (*flags->value == '\0') {
        flags->value = *flags->rest;
        if (flags->value == NULL) {
            return FLAGS_NO_VALUE;
        }
        flags->rest++;
    }
    return flags->letter;
}
