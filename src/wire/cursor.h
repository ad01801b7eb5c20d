/*
 * The cursor over keys and certificates (RFC 4251 section 5): those of users, in the child that has
 * given up every right, and the administrator's host keys. The monitor reads nothing of the wire
 * with it. Getters return zero or empty after the first failure, strings are cursors into the same
 * bytes, nothing is copied.
 */
#ifndef WREN_CURSOR_H
#define WREN_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
    const uint8_t *at;
    size_t left;
    bool failed;
};

struct cursor cursor_over(const void *bytes, size_t count);

uint32_t cursor_u32(struct cursor *cursor);
uint64_t cursor_u64(struct cursor *cursor);
uint8_t cursor_u8(struct cursor *cursor);

/* The next `count` bytes; on failure NULL. */
const uint8_t *cursor_bytes(struct cursor *cursor, size_t count);

/* A length and that many bytes; on failure an empty cursor that has failed too. */
struct cursor cursor_string(struct cursor *cursor);

/* A string that must have exactly `count` bytes, else the cursor fails; on failure NULL. */
const uint8_t *cursor_string_of(struct cursor *cursor, size_t count);

/* True if all that is left equals `text`. Consumes nothing. */
bool cursor_is(const struct cursor *cursor, const char *text);

/* True if a NUL is in what is left. Consumes nothing. */
bool cursor_has_nul(const struct cursor *cursor);

/* True if nothing failed and nothing is left. */
bool cursor_end(const struct cursor *cursor);

#endif
