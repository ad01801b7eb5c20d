/* The parts of what krl.c reads: sections, the sections in one about certificates, and entries. */
#include "mutate.h"

#include <string.h>

enum { HEADER, SECTION, INNER, STRING, SERIAL };

#define LIST_HEADER_BYTES 28 /* after the magic number: version, number, date, flags */
#define KEY_BLOB          "\0\0\0\x33\0\0\0\x0bssh-ed25519\0\0\0\x20"
#define OF_KEY(letters)   KEY_BLOB letters letters letters letters
#define USER              OF_KEY("UUUUUUUU")
#define AUTHORITY         OF_KEY("CCCCCCCC")

const struct mutate_word mutate_words[] = {
    MUTATE_WORD(SECTION, "\2\0\0\0\x37" USER),
    MUTATE_WORD(SECTION, "\2\0\0\0\x37" AUTHORITY),
    MUTATE_WORD(SECTION, "\5\0\0\0\x24\0\0\0\x20"
                         "................................"),
    MUTATE_WORD(SECTION, "\xff\0\0\0\x07\0\0\0\1n\0\0\0\0\0"),
    MUTATE_WORD(SECTION, "\1\0\0\0\x08\0\0\0\0\0\0\0\0"),
    MUTATE_WORD(SECTION, "\1\0\0\0\x48" AUTHORITY "\0\0\0\0"
                         "\x20\0\0\0\x08\0\0\0\0\0\0\0\x11"),
    MUTATE_WORD(INNER, "\x20\0\0\0\x10\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\x11"),
    MUTATE_WORD(INNER, "\x21\0\0\0\x10\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\x11"),
    MUTATE_WORD(INNER, "\x22\0\0\0\x0e\0\0\0\0\0\0\0\x0a\0\0\0\2\1\x80"),
    MUTATE_WORD(INNER, "\x23\0\0\0\x0f\0\0\0\x0b"
                       "alice's key"),
    MUTATE_WORD(INNER, "\x39\0\0\0\x0a\0\0\0\1n\0\0\0\0\0"),
    MUTATE_WORD(STRING, USER),
    MUTATE_WORD(STRING, AUTHORITY),
    MUTATE_WORD(STRING, "\0\0\0\0"),
    MUTATE_WORD(SERIAL, "\0\0\0\0\0\0\0\0"),
    MUTATE_WORD(SERIAL, "\0\0\0\0\0\0\0\x11"),
    MUTATE_WORD(SERIAL, "\xff\xff\xff\xff\xff\xff\xff\xff"),
};
const size_t mutate_word_count = sizeof(mutate_words) / sizeof(mutate_words[0]);

uint8_t mutate_separator(int kind)
{
    (void)kind;
    return 0;
}

static void find_strings(struct mutate_parts *parts, int parent, struct input input, size_t at,
                         size_t end)
{
    while (at < end) {
        at = mutate_add_counted(parts, STRING, parent, input, at, 4, end);
    }
}

static size_t find_serials(struct mutate_parts *parts, int parent, size_t at, size_t end, int most)
{
    for (int i = 0; i < most && end - at >= 8; i++, at += 8) {
        mutate_add(parts, SERIAL, parent, at, at + 8);
    }
    return at;
}

/* A section begins with the byte of its type. Its length is what mutate_add_counted() has found. */
static size_t find_section(struct mutate_parts *parts, int kind, int parent, struct input input,
                           size_t at, size_t most)
{
    uint8_t type = input.at[at];
    int number = parts->count;
    size_t end = mutate_add_counted(parts, kind, parent, input, at + 1, 4, most);
    if (end == SIZE_MAX) {
        return end;
    }
    parts->part[number].at = at;
    size_t content = at + 5;
    if (kind == SECTION && type == 1) {
        for (int i = 0; i < 2 && content < end; i++) {
            content = mutate_add_counted(parts, STRING, number, input, content, 4, end);
        }
        while (content < end) {
            content = find_section(parts, INNER, number, input, content, end);
        }
    } else if (type == 0x20 || type == 0x21) {
        find_serials(parts, number, content, end, 100);
    } else if (type == 0x22) {
        find_strings(parts, number, input, find_serials(parts, number, content, end, 1), end);
    } else {
        find_strings(parts, number, input, content, end);
    }
    return end;
}

void mutate_find(struct mutate_parts *parts, struct input input)
{
    struct input rest = input;
    input_take(&rest, 9);
    input_take(&rest, input_u8(&rest));
    input_line(&rest);
    size_t at = input.left - rest.left;
    mutate_add(parts, HEADER, -1, 0, at);
    for (int i = 0; i < 2; i++) {
        at = i == 0 ? at + LIST_HEADER_BYTES : at;
        at = mutate_add_counted(parts, STRING, -1, input, at, 4, input.left);
    }
    while (at < input.left) {
        at = find_section(parts, SECTION, -1, input, at, input.left);
    }
}
