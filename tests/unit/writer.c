#include "wire.h"

#include <string.h>

#include "unit.h"

static uint8_t room[256];
static struct writer writer;

static void start(void)
{
    memset(room, 0xee, sizeof(room));
    writer_init(&writer, room, sizeof(room));
}

UNIT_FIXTURE(start, NULL);

static void expect(const void *bytes, size_t count)
{
    ck_assert(!writer.failed);
    ck_assert_uint_eq(writer.used, count);
    ck_assert_mem_eq(room, bytes, count);
    ck_assert_uint_eq(room[count], 0xee);
}

TEST(all_fields)
{
    writer_u8(&writer, 0xfe);
    writer_bool(&writer, true);
    writer_bool(&writer, false);
    writer_u32(&writer, 0x89abcdef);
    writer_bytes(&writer, "xyz", 3);
    writer_bytes(&writer, NULL, 0);
    writer_string(&writer, "a\0b", 3);
    writer_string(&writer, NULL, 0);
    writer_text(&writer, "text");
    expect("\xfe\1\0\x89\xab\xcd\xefxyz\0\0\0\3a\0b\0\0\0\0\0\0\0\4text", 29);
}

/* Everything that all_fields writes, into every smaller room: what fits is right, nothing is
 * written behind it, and once a field did not fit none after it is taken. */
static void write_fields(void)
{
    size_t outer = writer_string_begin(&writer);
    writer_u8(&writer, 1);
    writer_u32(&writer, 2);
    size_t inner = writer_string_begin(&writer);
    writer_text(&writer, "inner");
    writer_string_end(&writer, inner);
    writer_mpint(&writer, (const uint8_t *)"\x80\1", 2);
    writer_string_end(&writer, outer);
    writer_bool(&writer, true);
}

TEST(overflow_sticks)
{
    uint8_t whole[64];
    write_fields();
    ck_assert(!writer.failed);
    size_t count = writer.used;
    ck_assert_uint_eq(count, 4 + 1 + 4 + (4 + 9) + (4 + 3) + 1);
    memcpy(whole, room, count);
    for (size_t capacity = 0; capacity <= count; capacity++) {
        memset(room, 0xee, sizeof(room));
        writer_init(&writer, room, capacity);
        write_fields();
        ck_assert_int_eq(writer.failed, capacity < count);
        ck_assert_uint_le(writer.used, capacity);
        for (size_t i = capacity; i < sizeof(room); i++) {
            ck_assert_uint_eq(room[i], 0xee);
        }
        size_t used = writer.used;
        if (capacity < count) {
            writer_u8(&writer, 9);
            writer_bytes(&writer, "", 0);
            ck_assert(writer.failed);
            ck_assert_uint_eq(writer.used, used);
        } else {
            ck_assert_mem_eq(room, whole, count);
        }
    }
}

/* After a field that did not fit, a smaller one that would fit must not be written in its place. */
TEST(nothing_is_taken_after_an_overflow)
{
    writer_init(&writer, room, 6);
    writer_u32(&writer, 1);
    writer_u32(&writer, 2);
    writer_u8(&writer, 3);
    writer_bool(&writer, true);
    writer_bytes(&writer, "x", 1);
    ck_assert(writer.failed);
    ck_assert_uint_eq(writer.used, 4);
    ck_assert_uint_eq(room[4], 0xee);
}

TEST(a_count_that_would_wrap)
{
    writer_u32(&writer, 0);
    writer_bytes(&writer, room, SIZE_MAX);
    ck_assert(writer.failed);
    ck_assert_uint_eq(writer.used, 4);
}

TEST(nested_strings)
{
    size_t outer = writer_string_begin(&writer);
    expect("\0\0\0\0", 4);
    writer_text(&writer, "ab");
    size_t inner = writer_string_begin(&writer);
    size_t empty = writer_string_begin(&writer);
    writer_string_end(&writer, empty);
    writer_u8(&writer, 'c');
    writer_string_end(&writer, inner);
    writer_string_end(&writer, outer);
    writer_u8(&writer, 'd');
    expect("\0\0\0\17\0\0\0\2ab\0\0\0\5\0\0\0\0cd", 20);
}

/* RFC 4251 section 5 gives the first, second and fourth. */
static const struct mpint {
    const char *number;
    size_t number_bytes;
    const char *encoded;
    size_t encoded_bytes;
} mpints[] = {
    {"", 0, "\0\0\0\0", 4},
    {"\x09\xa3\x78\xf9\xb2\xe3\x32\xa7", 8, "\0\0\0\x08\x09\xa3\x78\xf9\xb2\xe3\x32\xa7", 12},
    {"\0", 1, "\0\0\0\0", 4},
    {"\x80", 1, "\0\0\0\2\0\x80", 6},
    {"\0\0\0", 3, "\0\0\0\0", 4},
    {"\x7f", 1, "\0\0\0\1\x7f", 5},
    {"\0\0\x7f\0", 4, "\0\0\0\2\x7f\0", 6},
    {"\0\x80", 2, "\0\0\0\2\0\x80", 6},
    {"\0\0\xff\xff", 4, "\0\0\0\3\0\xff\xff", 7},
    {"\1\0", 2, "\0\0\0\2\1\0", 6},
};

TEST_EACH(mpint, COUNT_OF(mpints))
{
    const struct mpint *vector = &mpints[_i];
    writer_mpint(&writer, (const uint8_t *)vector->number, vector->number_bytes);
    expect(vector->encoded, vector->encoded_bytes);
}
