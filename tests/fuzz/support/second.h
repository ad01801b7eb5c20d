/*
 * The plain and slow readers that several targets use as a second opinion. They share no code with
 * the product, and neither do the fields of ssh_client.h.
 */
#ifndef WREN_SECOND_H
#define WREN_SECOND_H

#include "fuzz.h"
#include "ssh_client.h"

bool second_is(struct input text, const char *wanted);
bool second_same(struct input one, struct input other);
bool second_has_nul(struct input text);

/* A key's type: one that may log in, or another one that is known. */
enum second_type { SECOND_NO_TYPE, SECOND_OURS, SECOND_OTHER };

/* `certificate` says whether it is one's type. OpenSSH writes some names with and without
 * "@openssh.com"; that ending is taken behind each other type. */
enum second_type second_type(struct input name, bool *certificate);

/* A number of `bytes` bytes, most significant first. False, with nothing taken, if it is cut off.
 */
bool second_number(struct input *from, unsigned bytes, uint64_t *number);

/* So many bytes; zeros stand for those that are cut off. */
void second_bytes(struct input *from, uint8_t *out, size_t count);

/* A uint32 length and so many bytes. False if it is cut off. */
bool second_string(struct input *from, struct input *string);

/* A text of base64 as every encoder writes it, with padding: decodes it without a look, encodes the
 * result again and compares. Returns SIZE_MAX if the texts differ. `out` has room for 3 / 4 of it.
 */
size_t second_base64(uint8_t *out, struct input text);

/* Up to the first blank or the end; drops the blanks before it. */
struct input second_word(struct input *line);

/*
 * Inputs are short, so two bytes stand for longer texts: 0xfe for `inserted`, and 0xff with three
 * bytes, a count of two bytes and a byte, for so many of that byte. A count that is not near a
 * power of two means its low byte only. Returns the bytes written.
 */
size_t second_expand(uint8_t *out, size_t room, struct input from, const char *inserted);

/* The next line of a file of keys, without its newline and a carriage return before it. False at
 * the end. `too_long`: 16384 bytes or more stand before the newline or the end. */
bool second_line(struct input *file, struct input *line, bool *too_long);

/* Takes a byte-order mark off the first line of a file. */
void second_mark(struct input *line);

/* One option of a line of authorized_keys, without the comma after it. */
#define SECOND_VALUE_BYTES 4096
struct second_option {
    struct input name;
    bool valued;   /* "=" follows the name */
    bool readable; /* what follows "=" is a value in quotes that fits, without NUL */
    bool ends;     /* the text ends after it, or goes on with a comma and more */
    char value[SECOND_VALUE_BYTES];
};

/* Reads the next option. A quote ends a value unless the byte before it is a backslash. */
void second_option(struct input *text, struct second_option *option);

#endif
