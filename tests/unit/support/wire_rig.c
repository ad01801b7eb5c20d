#include "wire_rig.h"

#include <string.h>

#include "ssh_client.h"
#include "unit.h"

/* ---- messages -------------------------------------------------------------------------------- */

size_t wire_pack_list(uint8_t out[static WIRE_ROOM], const char *format, va_list arguments)
{
    struct fields fields = {out, 0, WIRE_ROOM, false};
    fields_put_list(&fields, format, arguments);
    ck_assert(!fields.full);
    return fields.used;
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

static uint32_t read_u32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

size_t wire_seal_body(struct wire *wire, uint8_t *out, uint32_t length, const uint8_t *body,
                      size_t body_bytes)
{
    struct fields packet = {out, 0, 4, false};
    fields_number(&packet, 4, length);
    memmove(out + 4, body, body_bytes);
    if (wire->sealed) {
        packet_encrypt(out, body_bytes, wire->key, wire->sequence);
    }
    wire->sequence++;
    return 4 + body_bytes + (wire->sealed ? PACKET_TAG_BYTES : 0);
}

size_t wire_seal_padded(struct wire *wire, uint8_t *out, const void *payload, size_t payload_bytes,
                        uint8_t padding)
{
    static uint8_t frame[WIRE_ROOM];
    size_t body_bytes = packet_frame(frame, payload, payload_bytes, padding) - 4;
    return wire_seal_body(wire, out, (uint32_t)body_bytes, frame + 4, body_bytes);
}

size_t wire_seal(struct wire *wire, uint8_t *out, const void *payload, size_t payload_bytes)
{
    return wire_seal_padded(wire, out, payload, payload_bytes,
                            (uint8_t)packet_padding(payload_bytes, wire->sealed));
}

size_t wire_open(struct wire *wire, const uint8_t *bytes, size_t count,
                 uint8_t payload[static WIRE_ROOM], size_t *payload_bytes)
{
    static uint8_t packet[4 + WIRE_ROOM];
    ck_assert_uint_ge(count, 4);
    memcpy(packet, bytes, 4);
    if (wire->sealed) {
        packet_crypt(packet, 0, wire->key, wire->sequence);
    }
    size_t length = read_u32(packet);
    size_t total = 4 + length + (wire->sealed ? PACKET_TAG_BYTES : 0);
    ck_assert_uint_le(length, WIRE_ROOM);
    ck_assert_uint_ge(count, total);
    memcpy(packet, bytes, 4 + length);
    if (wire->sealed) {
        uint8_t tag[PACKET_TAG_BYTES];
        packet_tag(tag, bytes, 4 + length, wire->key, wire->sequence);
        ck_assert_mem_eq(tag, bytes + 4 + length, sizeof(tag));
        packet_crypt(packet, length, wire->key, wire->sequence);
    }
    const uint8_t padding = packet[4];
    ck_assert_uint_eq((wire->sealed ? length : length + 4) % 8, 0);
    ck_assert_uint_ge(padding, 4);
    ck_assert_uint_ge(length, 1U + 1 + padding);
    *payload_bytes = length - 1 - padding;
    memcpy(payload, packet + 5, *payload_bytes);
    wire->sequence++;
    return total;
}
