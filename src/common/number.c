#include "number.h"

#include <stddef.h>

bool number_read(unsigned *number, const char *text)
{
    unsigned value = 0;
    size_t count = 0;
    for (; text[count] >= '0' && text[count] <= '9' && count < NUMBER_MOST_DIGITS; count++) {
        value = 10 * value + (unsigned)(text[count] - '0');
    }
    if (count == 0 || text[count] != '\0') {
        return false;
    }
    *number = value;
    return true;
}
