/*
 * The reader's getters in any order, beside a plain cursor over the same bytes.
 *
 * Input: a length byte and so many opcodes, then the bytes that are read. An opcode with a count
 * takes it from the next opcode.
 */
#include "wire.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

/* The plain one: a position that is only added to. */
struct cursor {
    const uint8_t *bytes;
    size_t size, at;
    bool failed;
};

static size_t left(const struct cursor *cursor)
{
    return cursor->failed ? 0 : cursor->size - cursor->at;
}

/* Whether so many bytes are there; if not, all is over. */
static bool take(struct cursor *cursor, size_t count)
{
    cursor->failed = cursor->failed || count > cursor->size - cursor->at;
    cursor->at += cursor->failed ? 0 : count;
    return !cursor->failed;
}

static uint64_t number(struct cursor *cursor, size_t count)
{
    uint64_t value = 0;
    size_t from = cursor->at;
    if (take(cursor, count)) {
        for (size_t i = 0; i < count; i++) {
            value = value << 8 | cursor->bytes[from + i];
        }
    }
    return value;
}

static bool is_in(const char *set, uint8_t byte)
{
    return byte != 0 && strchr(set, byte) != NULL;
}

/* The length of the run in (or outside of) the set. */
static size_t run(const struct cursor *cursor, const char *set, bool inside)
{
    size_t count = 0;
    while (count < left(cursor) && is_in(set, cursor->bytes[cursor->at + count]) == inside) {
        count++;
    }
    return count;
}

static const char *const sets[] = {" \t", ",=", "", "\n", "0123456789", "abc"};
#define SETS (sizeof(sets) / sizeof(sets[0]))

enum {
    U8,
    BOOL,
    U32,
    U64,
    BYTES,
    STRING,
    STRING_OF,
    PEEK,
    TAKE,
    SPAN,
    UNTIL,
    EQUALS,
    TEXT,
    INSIDE,
    OPCODES
};

static void on_number(struct reader *reader, struct cursor *cursor, uint8_t opcode)
{
    switch (opcode) {
    case U8:
        FUZZ_CHECK(reader_u8(reader) == number(cursor, 1));
        break;
    case BOOL:
        FUZZ_CHECK(reader_bool(reader) == (number(cursor, 1) != 0));
        break;
    case U32:
        FUZZ_CHECK(reader_u32(reader) == number(cursor, 4));
        break;
    default:
        FUZZ_CHECK(reader_u64(reader) == number(cursor, 8));
    }
}

static void on_bytes(struct reader *reader, struct cursor *cursor, uint8_t opcode, size_t count)
{
    const uint8_t *expected = cursor->bytes + cursor->at;
    const uint8_t *found;
    if (opcode == BYTES) {
        found = reader_bytes(reader, count);
        FUZZ_CHECK(take(cursor, count) ? found == expected : found == NULL);
    } else if (opcode == STRING_OF) {
        bool same = number(cursor, 4) == count;
        found = reader_string_of(reader, count);
        cursor->failed = cursor->failed || !same;
        FUZZ_CHECK(take(cursor, count) ? found == expected + 4 : found == NULL);
    } else {
        struct reader string = reader_string(reader);
        count = (size_t)number(cursor, 4);
        bool good = take(cursor, count);
        FUZZ_CHECK(string.failed == !good && string.left == (good ? count : 0));
        FUZZ_CHECK(!good || string.bytes == expected + 4);
    }
}

static void on_text(struct reader *reader, struct cursor *cursor, uint8_t opcode, uint8_t count)
{
    const char *set = sets[count % SETS];
    const uint8_t *at = cursor->bytes + cursor->at;
    size_t expected = run(cursor, set, opcode == SPAN);
    if (opcode == PEEK) {
        FUZZ_CHECK(reader_peek(reader) == (left(cursor) > 0 ? (int)*at : -1));
    } else if (opcode == TAKE) {
        size_t length = strlen(set);
        bool there = !cursor->failed && left(cursor) >= length && memcmp(at, set, length) == 0;
        /* An empty prefix of a reader that has failed is not there either. */
        FUZZ_CHECK(length == 0 ? cursor->failed || reader_take(reader, set)
                               : reader_take(reader, set) == there);
        cursor->at += there ? length : 0;
    } else {
        struct reader part = opcode == SPAN ? reader_span(reader, set) : reader_until(reader, set);
        FUZZ_CHECK(part.left == expected && part.failed == cursor->failed);
        FUZZ_CHECK(expected == 0 || part.bytes == at);
        cursor->at += expected;
    }
}

/* What consumes nothing. */
static void on_whole(const struct reader *reader, const struct cursor *cursor, uint8_t opcode,
                     uint8_t count)
{
    const uint8_t *at = cursor->bytes + cursor->at;
    bool nul = left(cursor) > 0 && memchr(at, 0, left(cursor)) != NULL;
    if (opcode == EQUALS) {
        uint8_t *copy = malloc(left(cursor) + 1);
        memcpy(copy, at, left(cursor));
        FUZZ_CHECK(reader_equals(reader, copy, left(cursor)) == !cursor->failed);
        copy[left(cursor)] = 0;
        FUZZ_CHECK(!reader_equals(reader, copy, left(cursor) + 1));
        FUZZ_CHECK(reader_is(reader, (char *)copy) == (!cursor->failed && !nul));
        copy[0]++;
        FUZZ_CHECK(left(cursor) == 0 || !reader_equals(reader, copy, left(cursor)));
        free(copy);
        return;
    }
    char text[256];
    size_t capacity = 1 + count % sizeof(text);
    memset(text, 'x', sizeof(text));
    bool good = reader_text(reader, text, capacity);
    FUZZ_CHECK(good == (!cursor->failed && !nul && left(cursor) < capacity));
    FUZZ_CHECK(!good || memcmp(text, at, left(cursor)) == 0);
    for (size_t i = good ? left(cursor) : 0; i < sizeof(text); i++) {
        FUZZ_CHECK(text[i] == (i < capacity ? '\0' : 'x'));
    }
    reader_cut(reader, text, capacity);
    FUZZ_CHECK(text[capacity - 1] == '\0' && strlen(text) <= left(cursor));
    FUZZ_CHECK(!good || memcmp(text, at, left(cursor)) == 0);
}

static void play(struct input opcodes, const uint8_t *bytes, size_t size)
{
    struct reader reader = reader_over(bytes, size);
    struct cursor cursor = {bytes, size, 0, false};
    while (opcodes.left > 0) {
        uint8_t opcode = input_u8(&opcodes) % OPCODES;
        uint8_t count = opcode > U64 ? input_u8(&opcodes) : 0;
        if (opcode <= U64) {
            on_number(&reader, &cursor, opcode);
        } else if (opcode <= STRING_OF) {
            on_bytes(&reader, &cursor, opcode, count);
        } else if (opcode <= UNTIL) {
            on_text(&reader, &cursor, opcode, count);
        } else if (opcode <= TEXT) {
            on_whole(&reader, &cursor, opcode, count);
        } else { /* a part of what is left, as a reader of its own */
            size_t part = count < left(&cursor) ? count : left(&cursor);
            struct reader inner = reader_over(bytes + cursor.at, part);
            struct cursor inside = {bytes + cursor.at, part, 0, false};
            on_bytes(&inner, &inside, STRING, 0);
        }
        FUZZ_CHECK(reader.failed == cursor.failed && reader.left == left(&cursor));
        FUZZ_CHECK(reader_end(&reader) == (!cursor.failed && left(&cursor) == 0));
        FUZZ_CHECK(reader_has_nul(&reader) ==
                   (left(&cursor) > 0 && memchr(bytes + cursor.at, 0, left(&cursor)) != NULL));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    const struct input opcodes = input_take(&input, input_u8(&input));
    uint8_t *copy = input_copy(input);
    play(opcodes, copy, input.left);
    free(copy);
    return 0;
}
