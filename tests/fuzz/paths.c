/*
 * The text of SFTP's paths: split into names a second time. No file is touched.
 *
 * Input: a line with a path, then another one. A path gets a slash in front, as these functions
 * take absolute ones.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "paths.h"
#include "second.h"

#define MOST_NAMES (PATH_BYTES / 2 + 1)

struct names {
    size_t count;
    const char *at[MOST_NAMES];
    char text[PATH_BYTES];
};

/* The names of a path, without empty ones and ".". */
static void split(struct names *names, const char *path)
{
    char *rest = NULL;
    names->count = 0;
    strcpy(names->text, path);
    for (char *name = strtok_r(names->text, "/", &rest); name != NULL;
         name = strtok_r(NULL, "/", &rest)) {
        if (strcmp(name, ".") != 0) {
            names->at[names->count++] = name;
        }
    }
}

static void check_begins(const char *path, const char *directory)
{
    static struct names all, start;
    split(&all, path);
    split(&start, directory);
    bool begins = start.count > 0 && start.count <= all.count;
    for (size_t i = 0; begins && i < start.count; i++) {
        begins = strcmp(all.at[i], start.at[i]) == 0;
    }
    FUZZ_CHECK(path_begins_with(path, directory) == begins);
    FUZZ_CHECK(path_begins_with(path, path) == (all.count > 0));
}

/* The last name is what stands behind the last slash that a name follows. */
static void check_cut(const char *path)
{
    char cut[PATH_BYTES], *copy = strdup(path);
    strcpy(cut, path);
    char *end = cut + strlen(cut);
    while (end - cut > 1 && end[-1] == '/') {
        *--end = '\0';
    }
    char *name = end;
    while (name[-1] != '/') {
        name--;
    }
    const char *last = path_cut_last(copy);
    FUZZ_CHECK(strcmp(last, name) == 0);
    name[-1] = '\0';
    FUZZ_CHECK(strcmp(copy, cut) == 0);
    FUZZ_CHECK(path_is_dots(last) == (last[strspn(last, ".")] == '\0' && strlen(last) <= 2));
    free(copy);
}

static void check_prepend(const char *path, const char *rest)
{
    char joined[PATH_BYTES], expected[2 * PATH_BYTES];
    strcpy(joined, rest);
    strcpy(expected, path);
    strcat(expected, rest);
    int result = path_prepend(joined, path);
    FUZZ_CHECK(result == (strlen(expected) < PATH_BYTES ? 0 : ENAMETOOLONG));
    FUZZ_CHECK(strcmp(joined, result == 0 ? expected : rest) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[PATH_BYTES];
    struct input input = {data, size};
    char path[PATH_BYTES] = "/", other[PATH_BYTES] = "/";
    char *texts[] = {path, other};
    for (size_t i = 0; i < 2; i++) {
        size_t count = second_expand(bytes, sizeof(bytes), input_line(&input), "/../");
        input_text((struct input){bytes, count}, texts[i] + 1, PATH_BYTES - 1);
    }
    char *copy = strdup(other);
    check_begins(path, copy);
    check_cut(path);
    check_prepend(path, copy);
    free(copy);
    return 0;
}
