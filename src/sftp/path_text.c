#include "paths.h"

char *path_cut_last(char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        path[--length] = '\0';
    }
    path = strrchr(path, '/');
    *path = '\0';
    return path + 1;
}

bool path_is_dots(const char *name)
{
    return name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Skips slashes and parts that are ".". */
static const char *skip_nothing(const char *path)
{
    while (path[0] == '/' || (path[0] == '.' && (path[1] == '/' || path[1] == '\0'))) {
        path++;
    }
    return path;
}

bool path_begins_with(const char *path, const char *directory)
{
    const char *wanted = skip_nothing(directory);
    if (path[0] != '/' || wanted[0] == '\0') {
        return false;
    }
    for (path = skip_nothing(path); wanted[0] != '\0'; path = skip_nothing(path)) {
        size_t bytes = strcspn(wanted, "/");
        if (strcspn(path, "/") != bytes || memcmp(path, wanted, bytes) != 0) {
            return false;
        }
        path += bytes;
        wanted = skip_nothing(wanted + bytes);
    }
    return true;
}

int path_prepend(char rest[static PATH_BYTES], const char *first)
{
    size_t first_bytes = strlen(first);
    size_t rest_bytes = strlen(rest);
    if (first_bytes + rest_bytes >= PATH_BYTES) {
        return ENAMETOOLONG;
    }
    memmove(rest + first_bytes, rest, rest_bytes + 1);
    memcpy(rest, first, first_bytes);
    return 0;
}
