#include "base.h"

#define NAME_BYTES  32
#define VALUE_BYTES 255

static bool is_one_of_ours(const char *name, size_t name_bytes)
{
    static const char names[][sizeof("GIT_PROTOCOL")] = {"LANG", "COLORTERM", "NO_COLOR",
                                                         "GIT_PROTOCOL"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (name_bytes == strlen(names[i]) && memcmp(name, names[i], name_bytes) == 0) {
            return true;
        }
    }
    return false;
}

/* LC_ALL, LC_CTYPE, and names like LC_MY_TERMINAL that people use to pass small values. */
static bool is_locale(const char *name, size_t name_bytes)
{
    if (name_bytes <= 3 || name_bytes > NAME_BYTES || memcmp(name, "LC_", 3) != 0) {
        return false;
    }
    for (size_t i = 3; i < name_bytes; i++) {
        if (!is_alphanumeric(name[i]) && name[i] != '_') {
            return false;
        }
    }
    return true;
}

static bool is_harmless(const char *value, size_t value_bytes)
{
    for (size_t i = 0; i < value_bytes; i++) {
        if (value[i] < 0x20 || value[i] > 0x7e || value[i] == '/' || value[i] == '%') {
            return false;
        }
    }
    return value_bytes <= VALUE_BYTES;
}

bool environment_allows(const char *name, size_t name_bytes, const char *value, size_t value_bytes)
{
    return (is_one_of_ours(name, name_bytes) || is_locale(name, name_bytes)) &&
           is_harmless(value, value_bytes);
}

bool environment_is_valid(const char *entries, size_t bytes, bool of_client)
{
    while (bytes > 0) {
        const char *end = memchr(entries, '\0', bytes);
        const char *equals = end != NULL ? memchr(entries, '=', (size_t)(end - entries)) : NULL;
        if (equals == NULL || equals == entries ||
            (of_client && !environment_allows(entries, (size_t)(equals - entries), equals + 1,
                                              (size_t)(end - equals - 1)))) {
            return false;
        }
        bytes -= (size_t)(end + 1 - entries);
        entries = end + 1;
    }
    return true;
}
