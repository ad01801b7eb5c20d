#include "cursor.h"

#include <string.h>

struct cursor cursor_over(const void *bytes, size_t count)
{
    return (struct cursor){.at = bytes, .left = count};
}

const uint8_t *cursor_bytes(struct cursor *cursor, size_t count)
{
    if (cursor->failed || count > cursor->left) {
        cursor->failed = true;
        cursor->left = 0;
        return NULL;
    }
    const uint8_t *bytes = cursor->at;
    cursor->at += count;
    cursor->left -= count;
    return bytes;
}

static uint64_t big_endian(struct cursor *cursor, size_t count)
{
    uint64_t value = 0;
    const uint8_t *bytes = cursor_bytes(cursor, count);
    for (size_t i = 0; bytes != NULL && i < count; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

uint8_t cursor_u8(struct cursor *cursor)
{
    return (uint8_t)big_endian(cursor, 1);
}

uint32_t cursor_u32(struct cursor *cursor)
{
    return (uint32_t)big_endian(cursor, 4);
}

uint64_t cursor_u64(struct cursor *cursor)
{
    return big_endian(cursor, 8);
}

struct cursor cursor_string(struct cursor *cursor)
{
    size_t count = cursor_u32(cursor);
    const uint8_t *bytes = cursor_bytes(cursor, count);
    if (bytes == NULL) {
        return (struct cursor){.failed = true};
    }
    return cursor_over(bytes, count);
}

const uint8_t *cursor_string_of(struct cursor *cursor, size_t count)
{
    struct cursor string = cursor_string(cursor);
    if (string.failed || string.left != count) {
        cursor->failed = true;
        cursor->left = 0;
        return NULL;
    }
    return string.at;
}

bool cursor_is(const struct cursor *cursor, const char *text)
{
    size_t bytes = strlen(text);
    return !cursor->failed && cursor->left == bytes && memcmp(cursor->at, text, bytes) == 0;
}

bool cursor_has_nul(const struct cursor *cursor)
{
    return cursor->left > 0 && memchr(cursor->at, '\0', cursor->left) != NULL;
}

bool cursor_end(const struct cursor *cursor)
{
    return !cursor->failed && cursor->left == 0;
}
