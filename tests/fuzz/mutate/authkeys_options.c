#include "lines.h"

void mutate_find(struct mutate_parts *parts, struct input input)
{
    struct input rest = input;
    input_u8(&rest);
    input_line(&rest);
    lines_find(parts, -1, input, input.left - rest.left, input.left);
}
