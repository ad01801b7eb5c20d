/*
 * The wire's fields, written by a second writer.
 */
#ifndef WREN_MONITOR_BYTES_H
#define WREN_MONITOR_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "hostkey.h"

struct buffer {
    uint8_t *bytes;
    size_t used;
};

static inline void put(struct buffer *buffer, const void *bytes, size_t count)
{
    if (count > 0) {
        memcpy(buffer->bytes + buffer->used, bytes, count);
    }
    buffer->used += count;
}

static inline void put_u32(struct buffer *buffer, uint32_t value)
{
    const uint8_t bytes[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
                              (uint8_t)value};
    put(buffer, bytes, 4);
}

static inline void put_string(struct buffer *buffer, const void *bytes, size_t count)
{
    put_u32(buffer, (uint32_t)count);
    put(buffer, bytes, count);
}

static inline void put_text(struct buffer *buffer, const char *text)
{
    put_string(buffer, text, strlen(text));
}

static inline void put_key(struct buffer *buffer, const uint8_t public_key[static 32])
{
    put_u32(buffer, 51);
    put_text(buffer, "ssh-ed25519");
    put_string(buffer, public_key, 32);
}

static inline void put_k_s(struct buffer *buffer, const struct hostkey *key, bool certified)
{
    if (certified) {
        put_string(buffer, key->certificate, key->certificate_bytes);
    } else {
        put_key(buffer, key->first.public_key);
    }
}

#endif
