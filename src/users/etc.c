#include "account_file.h"

#include <fcntl.h>
#include <stdio.h>

int etc_open(const char *name)
{
    char path[32];
    snprintf(path, sizeof(path), "/etc/%s", name);
    return openat(AT_FDCWD, path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
}
