#include "texts.h"

#include <stdbool.h>
#include <string.h>

const char *texts_find(const char *table, const char *text, size_t bytes)
{
    const char *words;
    bool found = false;
    do {
        size_t start = strlen(table);
        found = found || (start <= bytes && memcmp(table, text, start) == 0);
        words = table + start + 1;
        table = words + strlen(words) + 1;
    } while (!found || words[0] == '\0');
    return words;
}
