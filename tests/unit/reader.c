#include "wire.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

/* Over a block of exactly these bytes, so that a sanitizer sees every step beyond. */
static uint8_t *block;

static void finish(void)
{
    free(block);
    block = NULL;
}

UNIT_FIXTURE(NULL, finish);

static struct reader over(const void *bytes, size_t count)
{
    free(block);
    block = malloc(count > 0 ? count : 1);
    ck_assert_ptr_nonnull(block);
    memcpy(block, bytes, count);
    return reader_over(block, count);
}

static void expect_stuck(struct reader *reader)
{
    ck_assert(reader->failed);
    ck_assert_uint_eq(reader->left, 0);
    ck_assert(!reader_end(reader));
    ck_assert_uint_eq(reader_u8(reader), 0);
    ck_assert(!reader_bool(reader));
    ck_assert_uint_eq(reader_u32(reader), 0);
    ck_assert_uint_eq(reader_u64(reader), 0);
    ck_assert_ptr_null(reader_bytes(reader, 0));
    ck_assert_ptr_null(reader_bytes(reader, 1));
    ck_assert_ptr_null(reader_string_of(reader, 0));
    struct reader string = reader_string(reader), name;
    ck_assert(string.failed && string.left == 0);
    ck_assert(!reader_name(reader, &name));
    ck_assert(!reader_is(reader, ""));
    ck_assert(!reader_has_nul(reader));
    ck_assert_int_eq(reader_peek(reader), -1);
    ck_assert(!reader_take(reader, ""));
    string = reader_until(reader, READER_BLANKS);
    ck_assert(string.failed && string.left == 0);
    char text[4] = "abc";
    ck_assert(!reader_text(reader, text, sizeof(text)));
    ck_assert_str_eq(text, "");
    ck_assert(reader->failed);
    ck_assert(!reader_end(reader));
}

/* byte 1 | boolean 2 | uint32 | string "abc" | string "" | string_of 2 | bytes 3 */
static const uint8_t sample[] = {1, 2, 0x89, 0xab, 0xcd, 0xef, 0, 0, 0,   3,   'a', 'b', 'c',
                                 0, 0, 0,    0,    0,    0,    0, 2, 'x', 'y', 'm', 'n', 'o'};

struct fields {
    uint8_t byte;
    bool boolean;
    uint32_t number;
    struct reader abc, empty;
    const uint8_t *xy, *mno;
};

static struct fields read_all(struct reader *reader)
{
    struct fields fields;
    fields.byte = reader_u8(reader);
    fields.boolean = reader_bool(reader);
    fields.number = reader_u32(reader);
    fields.abc = reader_string(reader);
    fields.empty = reader_string(reader);
    fields.xy = reader_string_of(reader, 2);
    fields.mno = reader_bytes(reader, 3);
    return fields;
}

TEST(all_getters)
{
    struct reader reader = over(sample, sizeof(sample));
    ck_assert(!reader_end(&reader));
    struct fields fields = read_all(&reader);
    ck_assert(reader_end(&reader));
    ck_assert_uint_eq(fields.byte, 1);
    ck_assert(fields.boolean);
    ck_assert_uint_eq(fields.number, 0x89abcdef);
    ck_assert(reader_is(&fields.abc, "abc"));
    ck_assert(reader_end(&fields.empty));
    ck_assert_mem_eq(fields.xy, "xy", 2);
    ck_assert_mem_eq(fields.mno, "mno", 3);
    reader_u8(&reader);
    expect_stuck(&reader);
}

/* Cut off anywhere: the fields before the cut are right, the rest is zero, empty or NULL. */
TEST(all_getters_at_every_truncation)
{
    for (size_t cut = 0; cut < sizeof(sample); cut++) {
        struct reader reader = over(sample, cut);
        struct fields fields = read_all(&reader);
        ck_assert_uint_eq(fields.byte, cut >= 1 ? 1 : 0);
        ck_assert_int_eq(fields.boolean, cut >= 2);
        ck_assert_uint_eq(fields.number, cut >= 6 ? 0x89abcdef : 0);
        ck_assert_int_eq(fields.abc.failed, cut < 13);
        ck_assert_uint_eq(fields.abc.left, cut >= 13 ? 3 : 0);
        ck_assert_int_eq(fields.empty.failed, cut < 17);
        ck_assert_int_eq(fields.xy == NULL, cut < 23);
        ck_assert_ptr_null(fields.mno);
        expect_stuck(&reader);
    }
}

TEST(numbers_are_big_endian)
{
    static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct reader reader = over(bytes, sizeof(bytes));
    ck_assert_uint_eq(reader_u64(&reader), 0x0102030405060708);
    ck_assert(reader_end(&reader));
    reader = over(bytes, sizeof(bytes));
    ck_assert_uint_eq(reader_u32(&reader), 0x01020304);
    ck_assert_uint_eq(reader_u32(&reader), 0x05060708);
    ck_assert(reader_end(&reader));
}

/* The upper half alone is no number. */
TEST(a_number_cut_off_is_zero)
{
    static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7};
    for (size_t cut = 0; cut <= sizeof(bytes); cut++) {
        struct reader reader = over(bytes, cut);
        ck_assert_uint_eq(reader_u64(&reader), 0);
        expect_stuck(&reader);
    }
}

TEST(a_byte_left_over_is_no_end)
{
    struct reader reader = over("\1\2", 2);
    ck_assert_uint_eq(reader_u8(&reader), 1);
    ck_assert(!reader.failed);
    ck_assert(!reader_end(&reader));
    ck_assert_uint_eq(reader_u8(&reader), 2);
    ck_assert(reader_end(&reader));
}

TEST(an_empty_reader_is_at_its_end)
{
    struct reader reader = over("", 0);
    ck_assert(reader_end(&reader));
    ck_assert_ptr_nonnull(reader_bytes(&reader, 0));
    ck_assert(reader_end(&reader));
    struct reader nothing = {0};
    ck_assert(reader_end(&nothing));
}

TEST_EACH(lengths_far_beyond_the_end, 6)
{
    static const uint8_t lengths[][4] = {{0, 0, 0, 5},
                                         {0, 1, 0, 0},
                                         {0x7f, 0xff, 0xff, 0xff},
                                         {0x80, 0, 0, 0},
                                         {0xff, 0xff, 0xff, 0xfc},
                                         {0xff, 0xff, 0xff, 0xff}};
    uint8_t bytes[8] = {0};
    memcpy(bytes, lengths[_i], 4);
    struct reader reader = over(bytes, sizeof(bytes));
    struct reader string = reader_string(&reader);
    ck_assert(string.failed && string.left == 0);
    expect_stuck(&reader);
    reader = over(bytes, sizeof(bytes));
    ck_assert_ptr_null(reader_bytes(&reader, SIZE_MAX));
    expect_stuck(&reader);
}

TEST(any_byte_but_zero_is_true)
{
    for (unsigned value = 0; value < 256; value++) {
        uint8_t byte = (uint8_t)value;
        struct reader reader = over(&byte, 1);
        ck_assert_int_eq(reader_bool(&reader), value != 0);
    }
}

TEST(strings_are_readers_of_their_own)
{
    struct reader reader = over("\0\0\0\2ab\7", 7);
    struct reader string = reader_string(&reader);
    ck_assert_uint_eq(reader_u32(&string), 0);
    ck_assert(string.failed);
    ck_assert(!reader.failed);
    ck_assert_uint_eq(reader_u8(&reader), 7);
    ck_assert(reader_end(&reader));
}

TEST(a_string_of_another_size_fails)
{
    for (size_t size = 0; size < 6; size++) {
        struct reader reader = over("\0\0\0\3abc", 7);
        const uint8_t *bytes = reader_string_of(&reader, size);
        ck_assert_int_eq(bytes != NULL, size == 3);
        ck_assert_int_eq(reader_end(&reader), size == 3);
        if (size != 3) {
            expect_stuck(&reader);
        }
    }
}

/* ---- name-lists ------------------------------------------------------------------------------ */

static const struct list {
    const char *list;
    const char *names[4];
    bool fails;
} lists[] = {
    {"", {NULL}, false},   {"a", {"a"}, false},   {"a,bc,def", {"a", "bc", "def"}, false},
    {",", {NULL}, true},   {",a", {NULL}, true},  {"a,", {NULL}, true},
    {"a,b,", {"a"}, true}, {"a,,b", {"a"}, true}, {",,", {NULL}, true},
};

TEST_EACH(name_lists, COUNT_OF(lists))
{
    const struct list *list = &lists[_i];
    struct reader reader = over(list->list, strlen(list->list)), name;
    size_t count = 0;
    while (reader_name(&reader, &name)) {
        ck_assert(count < 4 && list->names[count] != NULL);
        ck_assert_msg(reader_is(&name, list->names[count]), "%s: %.*s", list->list, (int)name.left,
                      name.bytes);
        ck_assert_uint_gt(name.left, 0);
        count++;
    }
    ck_assert(count == 4 || list->names[count] == NULL);
    ck_assert_int_eq(reader.failed, list->fails);
    ck_assert_int_eq(reader_end(&reader), !list->fails);
    ck_assert(!reader_name(&reader, &name));
}

/* ---- texts ----------------------------------------------------------------------------------- */

TEST(is_compares_the_whole)
{
    struct reader reader = over("shell", 5);
    ck_assert(reader_is(&reader, "shell"));
    ck_assert(!reader_is(&reader, "shel"));
    ck_assert(!reader_is(&reader, "shells"));
    ck_assert(!reader_is(&reader, "Shell"));
    ck_assert(!reader_is(&reader, ""));
    ck_assert_uint_eq(reader.left, 5);
    reader = over("she\0l", 5);
    ck_assert(!reader_is(&reader, "she"));
    reader = over("", 0);
    ck_assert(reader_is(&reader, ""));
}

TEST(equals_compares_bytes)
{
    struct reader reader = over("a\0b", 3);
    ck_assert(reader_equals(&reader, "a\0b", 3));
    ck_assert(!reader_equals(&reader, "a\0c", 3));
    ck_assert(!reader_equals(&reader, "a", 1));
    reader_bytes(&reader, 4);
    ck_assert(!reader_equals(&reader, "", 0));
}

TEST(peek_and_take)
{
    struct reader reader = over("no-pty\xff", 7);
    ck_assert_int_eq(reader_peek(&reader), 'n');
    ck_assert(!reader_take(&reader, "no-x"));
    ck_assert_uint_eq(reader.left, 7);
    ck_assert(reader_take(&reader, "no-"));
    ck_assert(reader_take(&reader, ""));
    ck_assert(!reader_take(&reader, "pty\xff."));
    ck_assert(reader_take(&reader, "pty"));
    ck_assert_int_eq(reader_peek(&reader), 0xff);
    ck_assert(!reader.failed);
    ck_assert(reader_take(&reader, "\xff"));
    ck_assert_int_eq(reader_peek(&reader), -1);
    ck_assert(reader_end(&reader));
}

static const struct run {
    const char *text;
    size_t bytes;
    size_t blanks; /* at the start */
    size_t word;   /* after them */
} runs[] = {
    {"", 0, 0, 0},      {" \t ", 3, 3, 0},       {"word", 4, 0, 4}, {" word", 5, 1, 4},
    {"\ta b", 4, 1, 1}, {"a\0b c", 5, 0, 3},     {"\0", 1, 0, 1},   {" \0 ", 3, 1, 1},
    {"\n ", 2, 0, 1},   {" \xa0\x80 ", 4, 1, 2},
};

/* A NUL is in no set, and a byte above 127 is only itself. */
TEST_EACH(runs_of_bytes, COUNT_OF(runs))
{
    const struct run *row = &runs[_i];
    struct reader reader = over(row->text, row->bytes);
    struct reader blanks = reader_span(&reader, READER_BLANKS);
    ck_assert(reader_equals(&blanks, row->text, row->blanks));
    struct reader word = reader_until(&reader, READER_BLANKS);
    ck_assert(reader_equals(&word, row->text + row->blanks, row->word));
    ck_assert_uint_eq(reader.left, row->bytes - row->blanks - row->word);
    ck_assert(!reader.failed);
}

TEST(nul_is_found_anywhere)
{
    for (size_t place = 0; place < 6; place++) {
        char bytes[5];
        memset(bytes, 'a', sizeof(bytes));
        if (place < sizeof(bytes)) {
            bytes[place] = '\0';
        }
        struct reader reader = over(bytes, sizeof(bytes));
        ck_assert_int_eq(reader_has_nul(&reader), place < sizeof(bytes));
        char text[8] = "xxxxxxx";
        ck_assert_int_eq(reader_text(&reader, text, sizeof(text)), place == sizeof(bytes));
        ck_assert_str_eq(text, place == sizeof(bytes) ? "aaaaa" : "");
        ck_assert_uint_eq(reader.left, sizeof(bytes));
    }
}

TEST(texts_fit_with_their_nul)
{
    for (size_t size = 0; size < 8; size++) {
        char text[6];
        memset(text, 'x', sizeof(text));
        struct reader reader = over("abcdefg", size);
        ck_assert_int_eq(reader_text(&reader, text, sizeof(text)), size <= 5);
        char expected[6] = {0};
        memcpy(expected, "abcdefg", size <= 5 ? size : 0);
        ck_assert_mem_eq(text, expected, sizeof(text));
        memset(text, 'x', sizeof(text));
        reader_cut(&reader, text, sizeof(text));
        memcpy(expected, "abcdefg", size <= 5 ? size : 5);
        ck_assert_mem_eq(text, expected, sizeof(text));
        ck_assert_uint_eq(reader.left, size);
    }
    char text[4] = "xxx";
    struct reader hidden = over("a\0b", 3);
    reader_cut(&hidden, text, sizeof(text));
    ck_assert_mem_eq(text, "\0\0\0", sizeof(text));
}
