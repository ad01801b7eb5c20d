#include "lines.h"

enum { HEADER = 100, FILE_OF_KEYS, FIELD };

/* The fields of a certificate (support/certified.c), or the number of a key. Returns where the
 * files begin, or SIZE_MAX. */
static size_t find_offer(struct mutate_parts *parts, struct input input, size_t at, bool certified)
{
    if (!certified) {
        return at + 1;
    }
    at += 1 + 1 + 3 * 8;
    for (int i = 0; i < 6 && at < input.left; i++) {
        at = mutate_add_counted(parts, FIELD, -1, input, at, 2, input.left);
    }
    return at;
}

void mutate_find(struct mutate_parts *parts, struct input input)
{
    struct input rest = input;
    bool certified = (input_u8(&rest) & 2) != 0;
    input_take(&rest, input_u8(&rest));
    size_t at = input.left - rest.left;
    mutate_add(parts, HEADER, -1, 0, at);
    at = find_offer(parts, input, at, certified);
    for (int i = 0; i < 2 && at < input.left; i++) {
        int file = parts->count;
        size_t content = at + 2;
        at = mutate_add_counted(parts, FILE_OF_KEYS, -1, input, at, 2, input.left);
        if (at != SIZE_MAX) {
            lines_find(parts, file, input, content, at);
        }
    }
    if (at < input.left) {
        lines_find(parts, -1, input, at, input.left);
    }
}
