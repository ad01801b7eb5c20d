/*
 * The cursor over bytes from the wire (RFC 4251 section 5). Getters return zero or empty after the
 * first failure; reader_end() tells whether nothing failed and nothing is left, and every handler
 * asks it before it acts. Nothing is copied or allocated: strings are sub-readers into the packet.
 */
#ifndef WREN_READER_H
#define WREN_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
    const uint8_t *bytes; /* the next byte */
    size_t left;
    bool failed;
};

/* A uint32 whose place is known. */
static inline uint32_t reader_u32_at(const uint8_t bytes[static 4])
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

struct reader reader_over(const void *bytes, size_t count);

uint8_t reader_u8(struct reader *reader);
bool reader_bool(struct reader *reader); /* any non-zero byte is true */
uint32_t reader_u32(struct reader *reader);

/* The next `count` bytes; on failure NULL. */
const uint8_t *reader_bytes(struct reader *reader, size_t count);

/* A length and that many bytes; on failure an empty reader that has failed too. */
struct reader reader_string(struct reader *reader);

/* A string that must have exactly `count` bytes, else the reader fails; on failure NULL. */
const uint8_t *reader_string_of(struct reader *reader, size_t count);

/* The next name of a comma-separated name-list; false when there is none left. An empty name
 * fails the list. */
bool reader_name(struct reader *list, struct reader *name);

/* True if the whole of what is left equals `text`. Consumes nothing. */
bool reader_is(const struct reader *reader, const char *text);

/* True if a NUL is in what is left. Consumes nothing. */
bool reader_has_nul(const struct reader *reader);

/* Copies all that is left, with a NUL and zeros behind it, into `text`. False, and `text` empty, if
 * it does not fit with its NUL or holds one itself. */
bool reader_text(const struct reader *reader, char *text, size_t capacity);

bool reader_end(const struct reader *reader);

#endif
