/*
 * The writer's functions in any order and into any room, beside a plain list of bytes. Nothing may
 * be written behind the room, and nothing more once a field did not fit.
 *
 * Input: the room (two bytes), then opcodes, each with a length byte and so many bytes.
 */
#include "wire.h"

#include <stdlib.h>
#include <string.h>

#include "second.h"

#define MOST_BYTES 65536
#define MOST_MARKS 8

enum { U8, BOOL, U32, BYTES, STRING, TEXT, MPINT, BEGIN, END, OPCODES };

struct plain {
    uint8_t bytes[MOST_BYTES];
    size_t used;
    size_t room;
    bool failed;
};

/* A field, or the part of one that the writer checks by itself. */
static void add(struct plain *plain, const void *bytes, size_t count)
{
    plain->failed = plain->failed || plain->used + count > plain->room;
    if (!plain->failed && count > 0) {
        memcpy(plain->bytes + plain->used, bytes, count);
        plain->used += count;
    }
}

static void add_number(struct plain *plain, uint32_t number)
{
    const uint8_t bytes[] = {(uint8_t)(number / 16777216), (uint8_t)(number / 65536 % 256),
                             (uint8_t)(number / 256 % 256), (uint8_t)(number % 256)};
    add(plain, bytes, 4);
}

/* RFC 4251 section 5: no byte more than needed, and no sign. */
static void add_mpint(struct plain *plain, struct input number)
{
    uint8_t bytes[257] = {0};
    size_t start = 1;
    memcpy(bytes + 1, number.at, number.left);
    while (start < 1 + number.left && bytes[start] == 0) {
        start++;
    }
    start -= start < 1 + number.left && bytes[start] >= 128 ? 1 : 0;
    add_number(plain, (uint32_t)(1 + number.left - start));
    if (bytes[start] == 0 && start < 1 + number.left) {
        add(plain, bytes + start, 1);
        start++;
    }
    add(plain, bytes + start, 1 + number.left - start);
}

static void on_field(struct writer *writer, struct plain *plain, uint8_t opcode, struct input data)
{
    char text[257];
    uint8_t first = data.left > 0 ? data.at[0] : 0;
    struct input rest = data;
    uint32_t number = input_u32(&rest);
    switch (opcode) {
    case U8:
        writer_u8(writer, first);
        add(plain, &first, 1);
        break;
    case BOOL:
        writer_bool(writer, first >= 128);
        add(plain, first >= 128 ? "\1" : "\0", 1);
        break;
    case U32:
        writer_u32(writer, number);
        add_number(plain, number);
        break;
    case BYTES:
        writer_bytes(writer, data.at, data.left);
        add(plain, data.at, data.left);
        break;
    case STRING:
        writer_string(writer, data.at, data.left);
        add_number(plain, (uint32_t)data.left);
        add(plain, data.at, data.left);
        break;
    case TEXT:
        writer_text(writer, (input_text(data, text, sizeof(text)), text));
        add_number(plain, (uint32_t)strlen(text));
        add(plain, text, strlen(text));
        break;
    default:
        writer_mpint(writer, data.at, data.left);
        add_mpint(plain, data);
    }
}

/* The length of a string that ends here. */
static void patch(struct plain *plain, size_t mark)
{
    size_t end = plain->used;
    if (!plain->failed) {
        plain->used = mark;
        add_number(plain, (uint32_t)(end - mark - 4));
        plain->used = end;
    }
}

static void play(struct writer *writer, struct plain *plain, struct input input)
{
    size_t marks[MOST_MARKS], open = 0;
    while (input.left > 0) {
        uint8_t opcode = input_u8(&input) % OPCODES;
        if (opcode == BEGIN && open < MOST_MARKS) {
            marks[open] = plain->used;
            FUZZ_CHECK(writer_string_begin(writer) == marks[open]);
            open++;
            add_number(plain, 0);
        } else if (opcode == END && open > 0) {
            writer_string_end(writer, marks[--open]);
            patch(plain, marks[open]);
        } else if (opcode < BEGIN) {
            on_field(writer, plain, opcode, input_take(&input, input_u8(&input)));
        }
        FUZZ_CHECK(writer->failed == plain->failed && writer->used == plain->used);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct plain plain;
    struct input input = {data, size};
    struct writer writer;
    uint64_t room;
    second_number(&input, 2, &room);
    plain.used = 0;
    plain.room = (size_t)room;
    plain.failed = false;
    uint8_t *bytes = malloc(plain.room + 1);
    bytes[plain.room] = 0xc3;
    writer_init(&writer, bytes, plain.room);
    play(&writer, &plain, input);
    FUZZ_CHECK(memcmp(bytes, plain.bytes, plain.used) == 0);
    FUZZ_CHECK(bytes[plain.room] == 0xc3);
    free(bytes);
    return 0;
}
