/*
 * The one way to build a message: append-only, with an overflow that sticks. Checked once, at the
 * end, with writer_failed().
 */
#ifndef WREN_WRITER_H
#define WREN_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct writer {
    uint8_t *bytes;
    size_t capacity;
    size_t used; /* never above capacity */
    bool failed;
};

void writer_init(struct writer *writer, void *bytes, size_t capacity);

void writer_u8(struct writer *writer, uint8_t value);
void writer_bool(struct writer *writer, bool value);
void writer_u32(struct writer *writer, uint32_t value);
void writer_bytes(struct writer *writer, const void *bytes, size_t count);

/* RFC 4251 section 5 `string`: a length and the bytes. */
void writer_string(struct writer *writer, const void *bytes, size_t count);
void writer_text(struct writer *writer, const char *text);

/* RFC 4251 section 5 `mpint` of a non-negative big-endian number of any length. Not constant time
 * in the number of its leading zero bytes, as the encoding itself is not. */
void writer_mpint(struct writer *writer, const uint8_t *big_endian, size_t count);

/* Starts a string whose length is not known yet; writer_string_end() fills it in. Returns a mark
 * for it. Pairs nest. */
size_t writer_string_begin(struct writer *writer);
void writer_string_end(struct writer *writer, size_t mark);

bool writer_failed(const struct writer *writer);

#endif
