#include "wire.h"

void writer_init(struct writer *writer, void *bytes, size_t capacity)
{
    *writer = (struct writer){.bytes = bytes, .capacity = capacity};
}

/* Room for `count` more bytes, or NULL once anything did not fit. */
static uint8_t *reserve(struct writer *writer, size_t count)
{
    if (writer->failed || count > writer->capacity - writer->used) {
        writer->failed = true;
        return NULL;
    }
    uint8_t *place = writer->bytes + writer->used;
    writer->used += count;
    return place;
}

void writer_u8(struct writer *writer, uint8_t value)
{
    writer_bytes(writer, &value, 1);
}

void writer_bool(struct writer *writer, bool value)
{
    writer_u8(writer, value ? 1 : 0);
}

void writer_u32(struct writer *writer, uint32_t value)
{
    uint8_t *place = reserve(writer, 4);
    if (place != NULL) {
        big_endian_write(place, value);
    }
}

void writer_bytes(struct writer *writer, const void *bytes, size_t count)
{
    uint8_t *place = reserve(writer, count);
    if (place != NULL && count > 0) {
        memcpy(place, bytes, count);
    }
}

void writer_string(struct writer *writer, const void *bytes, size_t count)
{
    writer_u32(writer, (uint32_t)count);
    writer_bytes(writer, bytes, count);
}

void writer_text(struct writer *writer, const char *text)
{
    writer_string(writer, text, strlen(text));
}

void writer_mpint(struct writer *writer, const uint8_t *big_endian, size_t count)
{
    while (count > 0 && big_endian[0] == 0) {
        big_endian++;
        count--;
    }
    /* A leading zero byte keeps the number positive. */
    bool pad = count > 0 && (big_endian[0] & 0x80) != 0;
    writer_u32(writer, (uint32_t)(count + (pad ? 1 : 0)));
    if (pad) {
        writer_u8(writer, 0);
    }
    writer_bytes(writer, big_endian, count);
}

size_t writer_string_begin(struct writer *writer)
{
    size_t mark = writer->used;
    writer_u32(writer, 0);
    return mark;
}

void writer_string_end(struct writer *writer, size_t mark)
{
    if (!writer->failed) {
        big_endian_write(writer->bytes + mark, (uint32_t)(writer->used - mark - 4));
    }
}
