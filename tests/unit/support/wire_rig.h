/*
 * The client's side of the wire, by tests/client: messages from a format, and packets sealed and
 * opened with libsodium instead of crypto/.
 */
#ifndef WREN_UNIT_WIRE_RIG_H
#define WREN_UNIT_WIRE_RIG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_ROOM 270000

/* Writes the fields of a format of ssh_client.h, all of which must fit. Returns how many bytes they
 * took. */
size_t wire_pack(uint8_t out[static WIRE_ROOM], const char *format, ...);
size_t wire_pack_list(uint8_t out[static WIRE_ROOM], const char *format, va_list arguments);

/* One direction: in the clear until `sealed`. */
struct wire {
    bool sealed;
    uint32_t sequence;
    uint8_t key[64]; /* K_2, K_1 */
};

/* With a padding of the test's choice, which may break the rules. Returns the packet's size. */
size_t wire_seal_padded(struct wire *wire, uint8_t *out, const void *payload, size_t payload_bytes,
                        uint8_t padding);
size_t wire_seal(struct wire *wire, uint8_t *out, const void *payload, size_t payload_bytes);

/* Seals a length field and a body as they are given. */
size_t wire_seal_body(struct wire *wire, uint8_t *out, uint32_t length, const uint8_t *body,
                      size_t body_bytes);

/* Opens the packet at the start of `bytes`, which must be there whole and keep every rule of RFC
 * 4253 section 6. Returns its size; the payload is copied out. */
size_t wire_open(struct wire *wire, const uint8_t *bytes, size_t count,
                 uint8_t payload[static WIRE_ROOM], size_t *payload_bytes);

#endif
