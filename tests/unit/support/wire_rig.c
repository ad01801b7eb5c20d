#include "wire_rig.h"

#include <sodium.h>
#include <string.h>

#include "unit.h"

#define TAG_BYTES 16

void wire_put_u32(uint8_t *bytes, uint32_t value)
{
    bytes[0] = (uint8_t)(value >> 24);
    bytes[1] = (uint8_t)(value >> 16);
    bytes[2] = (uint8_t)(value >> 8);
    bytes[3] = (uint8_t)value;
}

uint32_t wire_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* ---- messages -------------------------------------------------------------------------------- */

static size_t put(uint8_t *out, size_t at, const void *bytes, size_t count)
{
    ck_assert_uint_le(count, WIRE_ROOM - at);
    if (count > 0) {
        memcpy(out + at, bytes, count);
    }
    return at + count;
}

static size_t put_number(uint8_t *out, size_t at, uint32_t value)
{
    uint8_t bytes[4];
    wire_put_u32(bytes, value);
    return put(out, at, bytes, sizeof(bytes));
}

size_t wire_pack_list(uint8_t out[static WIRE_ROOM], const char *format, va_list fields)
{
    size_t at = 0;
    for (; *format != '\0'; format++) {
        if (*format == 'b') {
            uint8_t byte = (uint8_t)va_arg(fields, int);
            at = put(out, at, &byte, 1);
        } else if (*format == 'u') {
            at = put_number(out, at, va_arg(fields, uint32_t));
        } else if (*format == 's') {
            const char *text = va_arg(fields, const char *);
            at = put_number(out, at, (uint32_t)strlen(text));
            at = put(out, at, text, strlen(text));
        } else {
            ck_assert(*format == 'd' || *format == 'r');
            const void *bytes = va_arg(fields, const void *);
            size_t count = va_arg(fields, size_t);
            at = *format == 'd' ? put_number(out, at, (uint32_t)count) : at;
            at = put(out, at, bytes, count);
        }
    }
    return at;
}

size_t wire_pack(uint8_t out[static WIRE_ROOM], const char *format, ...)
{
    va_list fields;
    va_start(fields, format);
    size_t count = wire_pack_list(out, format, fields);
    va_end(fields);
    return count;
}

/* ---- packets --------------------------------------------------------------------------------- */

static void nonce_of(const struct wire *wire, uint8_t nonce[static 8])
{
    memset(nonce, 0, 4);
    wire_put_u32(nonce + 4, wire->sequence);
}

static void tag_of(const struct wire *wire, const uint8_t *sealed, size_t count,
                   uint8_t tag[static TAG_BYTES])
{
    uint8_t nonce[8], once[32];
    nonce_of(wire, nonce);
    crypto_stream_chacha20(once, sizeof(once), nonce, wire->key);
    crypto_onetimeauth_poly1305(tag, sealed, count, once);
}

size_t wire_seal_body(struct wire *wire, uint8_t *out, uint32_t length, const uint8_t *body,
                      size_t body_bytes)
{
    size_t total = 4 + body_bytes;
    wire_put_u32(out, length);
    memmove(out + 4, body, body_bytes);
    if (wire->sealed) {
        uint8_t nonce[8];
        nonce_of(wire, nonce);
        crypto_stream_chacha20_xor(out, out, 4, nonce, wire->key + 32);
        crypto_stream_chacha20_xor_ic(out + 4, out + 4, body_bytes, nonce, 1, wire->key);
        tag_of(wire, out, total, out + total);
        total += TAG_BYTES;
    }
    wire->sequence++;
    return total;
}

size_t wire_seal_padded(struct wire *wire, uint8_t *out, const void *payload, size_t payload_bytes,
                        uint8_t padding)
{
    static uint8_t body[WIRE_ROOM];
    body[0] = padding;
    memcpy(body + 1, payload, payload_bytes);
    memset(body + 1 + payload_bytes, 0xa5, padding);
    size_t body_bytes = 1 + payload_bytes + padding;
    return wire_seal_body(wire, out, (uint32_t)body_bytes, body, body_bytes);
}

size_t wire_seal(struct wire *wire, uint8_t *out, const void *payload, size_t payload_bytes)
{
    size_t header = wire->sealed ? 1 : 5;
    uint8_t padding = 4;
    while ((header + payload_bytes + padding) % 8 != 0) {
        padding++;
    }
    return wire_seal_padded(wire, out, payload, payload_bytes, padding);
}

size_t wire_open(struct wire *wire, const uint8_t *bytes, size_t count,
                 uint8_t payload[static WIRE_ROOM], size_t *payload_bytes)
{
    static uint8_t body[WIRE_ROOM];
    uint8_t nonce[8], field[4];
    nonce_of(wire, nonce);
    ck_assert_uint_ge(count, 4);
    memcpy(field, bytes, 4);
    if (wire->sealed) {
        crypto_stream_chacha20_xor(field, field, 4, nonce, wire->key + 32);
    }
    size_t length = wire_u32(field);
    size_t total = 4 + length + (wire->sealed ? TAG_BYTES : 0);
    ck_assert_uint_le(length, sizeof(body));
    ck_assert_uint_ge(count, total);
    memcpy(body, bytes + 4, length);
    if (wire->sealed) {
        uint8_t tag[TAG_BYTES];
        tag_of(wire, bytes, 4 + length, tag);
        ck_assert_mem_eq(tag, bytes + 4 + length, TAG_BYTES);
        crypto_stream_chacha20_xor_ic(body, body, length, nonce, 1, wire->key);
    }
    ck_assert_uint_eq((wire->sealed ? length : length + 4) % 8, 0);
    ck_assert_uint_ge(body[0], 4);
    ck_assert_uint_ge(length, 1U + 1 + body[0]);
    *payload_bytes = length - 1 - body[0];
    memcpy(payload, body + 1, *payload_bytes);
    wire->sequence++;
    return total;
}
