/*
 * A cursor over what a key file of ours holds: the encoding of RFC 4251 section 5. Getters return
 * zero or empty after the first failure; keyblob_end() is asked once, at the end. It reads files of
 * the administrator, never what came from the network.
 */
#ifndef WREN_KEYBLOB_H
#define WREN_KEYBLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keyblob {
    const uint8_t *bytes;
    size_t left;
    bool failed;
};

struct keyblob keyblob_over(const uint8_t *bytes, size_t count);

/* NULL if there are not so many. */
const uint8_t *keyblob_bytes(struct keyblob *blob, size_t count);
uint32_t keyblob_u32(struct keyblob *blob);
struct keyblob keyblob_string(struct keyblob *blob);

/* The bytes of a string of exactly this length, or NULL. */
const uint8_t *keyblob_string_of(struct keyblob *blob, size_t count);

bool keyblob_is(const struct keyblob *blob, const char *text);

/* True if nothing failed and nothing is left. */
bool keyblob_end(const struct keyblob *blob);

#endif
