/*
 * Builds messages, keys and signed data (RFC 4251 section 5). Each function appends one field. If a
 * field does not fit, nothing is written from then on; ask writer_failed() once, at the end.
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

/* `string`: a uint32 length and the bytes. */
void writer_string(struct writer *writer, const void *bytes, size_t count);
void writer_text(struct writer *writer, const char *text);

/* `mpint` of a non-negative big-endian number of any length. The time depends on the count of
 * leading zero bytes, as the length of the encoding does. */
void writer_mpint(struct writer *writer, const uint8_t *big_endian, size_t count);

/* Begins a string whose length is not known yet. Returns a mark, with which writer_string_end()
 * fills in the length. Pairs nest. */
size_t writer_string_begin(struct writer *writer);
void writer_string_end(struct writer *writer, size_t mark);

bool writer_failed(const struct writer *writer);

#endif
