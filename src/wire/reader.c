#include "wire.h"

struct reader reader_over(const void *bytes, size_t count)
{
    return (struct reader){.bytes = bytes, .left = count};
}

/* A failed reader has nothing left, so that loops over `left` end. */
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
    return bytes != NULL ? big_endian_read(bytes) : 0;
}

uint64_t reader_u64(struct reader *reader)
{
    const uint8_t *bytes = reader_bytes(reader, 8);
    return bytes != NULL ? (uint64_t)big_endian_read(bytes) << 32 | big_endian_read(bytes + 4) : 0;
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

int reader_peek(const struct reader *reader)
{
    return reader->left > 0 ? reader->bytes[0] : -1;
}

bool reader_take(struct reader *reader, const char *prefix)
{
    size_t count = strlen(prefix);
    return count <= reader->left && memcmp(reader->bytes, prefix, count) == 0 &&
           reader_bytes(reader, count) != NULL;
}

static struct reader read_run(struct reader *reader, size_t count)
{
    struct reader run = *reader;
    run.left = count;
    reader->bytes += count;
    reader->left -= count;
    return run;
}

struct reader reader_span(struct reader *reader, const char *set)
{
    size_t count = 0;
    while (count < reader->left && reader->bytes[count] != '\0' &&
           strchr(set, reader->bytes[count]) != NULL) {
        count++;
    }
    return read_run(reader, count);
}

/* By memchr(), which looks at many bytes at a time: files of keys may have many lines. */
struct reader reader_until(struct reader *reader, const char *set)
{
    size_t count = reader->left;
    for (; *set != '\0' && count > 0; set++) {
        const uint8_t *found = memchr(reader->bytes, *set, count);
        count = found != NULL ? (size_t)(found - reader->bytes) : count;
    }
    return read_run(reader, count);
}

bool reader_name(struct reader *list, struct reader *name)
{
    if (list->failed || list->left == 0) {
        return false;
    }
    *name = reader_until(list, ",");
    bool comma = reader_take(list, ",");
    /* An empty name: two commas in a row, or one at either end. */
    if (name->left == 0 || (comma && list->left == 0)) {
        fail(list);
        return false;
    }
    return true;
}

bool reader_equals(const struct reader *reader, const void *bytes, size_t count)
{
    return !reader->failed && reader->left == count && memcmp(reader->bytes, bytes, count) == 0;
}

bool reader_is(const struct reader *reader, const char *text)
{
    return reader_equals(reader, text, strlen(text));
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

void reader_cut(const struct reader *reader, char *text, size_t capacity)
{
    struct reader first = *reader;
    first.left = smaller(first.left, capacity - 1);
    reader_text(&first, text, capacity);
}

bool reader_end(const struct reader *reader)
{
    return !reader->failed && reader->left == 0;
}
