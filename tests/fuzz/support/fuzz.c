#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct input input_take(struct input *input, size_t count)
{
    size_t taken = count < input->left ? count : input->left;
    const struct input part = {input->at, taken};
    input->at += taken;
    input->left -= taken;
    return part;
}

uint8_t input_u8(struct input *input)
{
    const struct input part = input_take(input, 1);
    return part.left == 1 ? part.at[0] : 0;
}

uint32_t input_u32(struct input *input)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        value = value << 8 | input_u8(input);
    }
    return value;
}

uint32_t input_below_or_equal(struct input *input, uint32_t most)
{
    uint32_t value = most < 256 ? input_u8(input) : input_u32(input);
    return most == UINT32_MAX ? value : value % (most + 1);
}

struct input input_line(struct input *input)
{
    const uint8_t *end = input->left > 0 ? memchr(input->at, '\n', input->left) : NULL;
    const struct input line =
        input_take(input, end != NULL ? (size_t)(end - input->at) : input->left);
    input_take(input, 1);
    return line;
}

size_t input_text(struct input from, char *text, size_t size)
{
    size_t count = from.left < size - 1 ? from.left : size - 1;
    if (count > 0) {
        memcpy(text, from.at, count);
    }
    text[count] = '\0';
    return strlen(text);
}

uint8_t *input_copy(struct input from)
{
    uint8_t *copy = malloc(from.left > 0 ? from.left : 1);
    if (copy == NULL) {
        abort();
    }
    if (from.left > 0) {
        memcpy(copy, from.at, from.left);
    }
    return copy;
}

void fuzz_fail(const char *promise, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, promise);
    abort();
}
