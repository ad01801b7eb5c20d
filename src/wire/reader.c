#include "reader.h"

#include <string.h>

struct reader reader_over(const void *bytes, size_t count)
{
    return (struct reader){.bytes = bytes, .left = count};
}

/* What has failed has nothing left, so that loops over `left` end. */
static const uint8_t *fail(struct reader *reader)
{
    reader->failed = true;
    reader->left = 0;
    return NULL;
}

const uint8_t *reader_bytes(struct reader *reader, size_t count)
{
    if (reader->failed || count > reader->left) {
        return fail(reader);
    }
    const uint8_t *bytes = reader->bytes;
    reader->bytes += count;
    reader->left -= count;
    return bytes;
}

uint8_t reader_u8(struct reader *reader)
{
    const uint8_t *byte = reader_bytes(reader, 1);
    return byte == NULL ? 0 : *byte;
}

bool reader_bool(struct reader *reader)
{
    return reader_u8(reader) != 0;
}

uint32_t reader_u32(struct reader *reader)
{
    const uint8_t *bytes = reader_bytes(reader, 4);
    return bytes != NULL ? reader_u32_at(bytes) : 0;
}

uint64_t reader_u64(struct reader *reader)
{
    const uint8_t *bytes = reader_bytes(reader, 8);
    return bytes != NULL ? (uint64_t)reader_u32_at(bytes) << 32 | reader_u32_at(bytes + 4) : 0;
}

struct reader reader_string(struct reader *reader)
{
    uint32_t count = reader_u32(reader);
    const uint8_t *bytes = reader_bytes(reader, count);
    if (bytes == NULL) {
        return (struct reader){.failed = true};
    }
    return reader_over(bytes, count);
}

const uint8_t *reader_string_of(struct reader *reader, size_t count)
{
    struct reader string = reader_string(reader);
    return string.failed || string.left != count ? fail(reader) : string.bytes;
}

bool reader_name(struct reader *list, struct reader *name)
{
    if (list->failed || list->left == 0) {
        return false;
    }
    const uint8_t *comma = memchr(list->bytes, ',', list->left);
    size_t count = comma == NULL ? list->left : (size_t)(comma - list->bytes);
    *name = reader_over(reader_bytes(list, count), count);
    if (comma != NULL) {
        reader_u8(list);
    }
    /* An empty name: two commas in a row, or one at either end. */
    if (count == 0 || (comma != NULL && list->left == 0)) {
        fail(list);
        return false;
    }
    return true;
}

bool reader_is(const struct reader *reader, const char *text)
{
    size_t count = strlen(text);
    return !reader->failed && reader->left == count && memcmp(reader->bytes, text, count) == 0;
}

bool reader_has_nul(const struct reader *reader)
{
    return reader->left > 0 && memchr(reader->bytes, 0, reader->left) != NULL;
}

bool reader_text(const struct reader *reader, char *text, size_t capacity)
{
    memset(text, 0, capacity);
    if (reader->failed || reader->left >= capacity || reader_has_nul(reader)) {
        return false;
    }
    if (reader->left > 0) {
        memcpy(text, reader->bytes, reader->left);
    }
    return true;
}

bool reader_end(const struct reader *reader)
{
    return !reader->failed && reader->left == 0;
}
