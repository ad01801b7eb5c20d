/*
 * Reads fields from a range of bytes: binary ones as RFC 4251 section 5 defines them, in packets,
 * keys and certificates, and texts of files. The bytes stay where they are; a string is a reader of
 * its own within them.
 *
 * The first getter that fails marks the reader as failed. From then on every getter returns zero,
 * NULL or an empty reader. Ask reader_end() once, after the last field and before you use any.
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

struct reader reader_over(const void *bytes, size_t count);

uint8_t reader_u8(struct reader *reader);
bool reader_bool(struct reader *reader); /* any byte but zero is true */
uint32_t reader_u32(struct reader *reader);
uint64_t reader_u64(struct reader *reader);

/* The next `count` bytes; on failure NULL. */
const uint8_t *reader_bytes(struct reader *reader, size_t count);

/* A uint32 length and that many bytes; on failure an empty reader that has failed too. */
struct reader reader_string(struct reader *reader);

/* A string of exactly `count` bytes; any other length is a failure. On failure NULL. */
const uint8_t *reader_string_of(struct reader *reader, size_t count);

/* ---- texts ----------------------------------------------------------------------------------- */

#define READER_BLANKS " \t"

/* The next byte, or -1 at the end. Consumes nothing. */
int reader_peek(const struct reader *reader);

/* Consumes `prefix` if the bytes left start with it, else nothing. */
bool reader_take(struct reader *reader, const char *prefix);

/* reader_span() reads bytes in `set`, reader_until() bytes not in `set`, up to the first other
 * byte. The result may be empty. A NUL is in no set. */
struct reader reader_span(struct reader *reader, const char *set);
struct reader reader_until(struct reader *reader, const char *set);

/* Reads the next name of a comma-separated name-list. False at the end of the list. An empty name
 * is a failure. */
bool reader_name(struct reader *list, struct reader *name);

/* True if the bytes left are just these; never if the reader has failed. Consumes nothing. */
bool reader_is(const struct reader *reader, const char *text);
bool reader_equals(const struct reader *reader, const void *bytes, size_t count);

/* True if a NUL is among the bytes left. Consumes nothing. */
bool reader_has_nul(const struct reader *reader);

/* Copies all the bytes left into `text` and fills the rest of it with zeros. False, with `text`
 * empty, if there is no room for them and a NUL, or if they hold a NUL. */
bool reader_text(const struct reader *reader, char *text, size_t capacity);

/* True if no getter has failed and no byte is left. */
bool reader_end(const struct reader *reader);

#endif
