#include "number.h"

#include <string.h>

bool number_parse(uint64_t *number, const void *digits, size_t count, uint64_t most)
{
    const uint8_t *bytes = digits;
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned digit = bytes[i] - (unsigned)'0';
        if (digit > 9 || digit > most || value > (most - digit) / 10) {
            return false;
        }
        value = 10 * value + digit;
    }
    if (count > 0) {
        *number = value;
    }
    return count > 0;
}

bool number_read(unsigned *number, const char *text)
{
    uint64_t value;
    size_t count = strlen(text);
    if (count > NUMBER_MOST_DIGITS || !number_parse(&value, text, count, UINT32_MAX)) {
        return false;
    }
    *number = (unsigned)value;
    return true;
}
