/*
 * Variables: which of a client's are taken, judged by a regular expression, and which of the
 * launcher's stay, judged by reading the list that is left.
 *
 * Input: a byte. A name up to a newline and a value; or the launcher's variables, one a line.
 */
#include "base.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "main.h"
#include "second.h"

#define MOST_VARIABLES 64

static bool matches(const char *pattern, const char *text)
{
    regex_t expression;
    FUZZ_CHECK(regcomp(&expression, pattern, REG_EXTENDED | REG_NOSUB) == 0);
    bool found = regexec(&expression, text, 0, NULL, 0) == 0;
    regfree(&expression);
    return found;
}

/* regexec() ends at a NUL, which no name and no value may hold. */
static void check_clients(struct input name, struct input value)
{
    char name_text[512], value_text[512];
    bool allowed =
        environment_allows((const char *)name.at, name.left, (const char *)value.at, value.left);
    bool whole = input_text(name, name_text, sizeof(name_text)) == name.left &&
                 input_text(value, value_text, sizeof(value_text)) == value.left;
    bool expected =
        whole && value.left <= 255 &&
        matches("^(LANG|COLORTERM|NO_COLOR|GIT_PROTOCOL|LC_[A-Za-z0-9_]{1,29})$", name_text) &&
        matches("^[]-~!-$&-.0-[\\^ ]*$", value_text);
    FUZZ_CHECK(allowed == expected);
}

/* ---- the launcher's -------------------------------------------------------------------------- */

static bool stays(const char *variable)
{
    return strncmp(variable, "TZ=", 3) == 0 || strncmp(variable, "CREDENTIALS_DIRECTORY=", 22) == 0;
}

static void check_launchers(struct input lines)
{
    char *before[MOST_VARIABLES + 1], *copies[MOST_VARIABLES], **real = environ;
    size_t count = 0, kept = 0;
    bool zone = false;
    for (; count < MOST_VARIABLES && lines.left > 0; count++) {
        const struct input line = input_line(&lines);
        before[count] = malloc(line.left + 1);
        input_text(line, before[count], line.left + 1);
        copies[count] = strdup(before[count]);
    }
    before[count] = NULL;
    environ = before;
    launcher_environment_wipe();
    char **after = environ;
    for (size_t i = 0; i < count; i++) {
        bool expected = stays(copies[i]) && kept < 2;
        if (expected) {
            FUZZ_CHECK(after[kept++] == before[i] && strcmp(before[i], copies[i]) == 0);
            zone = zone || strncmp(copies[i], "TZ=", 3) == 0;
        }
        for (size_t at = 0; !expected && at < strlen(copies[i]); at++) {
            FUZZ_CHECK(before[i][at] == '\0');
        }
    }
    if (!zone) {
        FUZZ_CHECK(strcmp(after[kept++], "TZ=:/etc/localtime") == 0);
    }
    FUZZ_CHECK(after[kept] == NULL);
    environ = real;
    memset(after, 0, kept * sizeof(after[0])); /* The server wipes its environment once. */
    for (size_t i = 0; i < count; i++) {
        free(before[i]);
        free(copies[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    if ((input_u8(&input) & 1) != 0) {
        check_launchers(input);
        return 0;
    }
    const struct input name = input_line(&input);
    uint8_t *name_copy = input_copy(name), *value_copy = input_copy(input);
    check_clients((struct input){name_copy, name.left}, (struct input){value_copy, input.left});
    free(name_copy);
    free(value_copy);
    return 0;
}
