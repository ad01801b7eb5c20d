/*
 * The binary packet protocol (RFC 4253 section 6), one direction at a time, without I/O: framing,
 * padding, sequence numbers, sealing and opening in place.
 *
 *     uint32 packet_length | byte padding_length | payload | padding | tag
 *
 * Until the first NEWKEYS a direction is in the clear and there is no tag.
 */
#ifndef WREN_PACKET_H
#define WREN_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chachapoly.h"

/* Where the payload starts in a packet. */
#define PACKET_HEADER_BYTES (CHACHAPOLY_LENGTH_BYTES + 1)

/* What a packet takes beyond its payload, at most: header, 4 to 11 bytes of padding, tag. */
#define PACKET_OVERHEAD_BYTES (PACKET_HEADER_BYTES + 11 + CHACHAPOLY_TAG_BYTES)

struct packet_direction {
    bool sealed;
    bool logged_in;    /* the limit is LIMIT_LOGGED_IN_PACKET_BYTES, else LIMIT_PACKET_BYTES */
    uint32_t sequence; /* of the next packet; wraps, but a rekey comes long before */
    uint32_t packets;  /* since the last packet_new_keys() */
    uint32_t length;   /* packet_length of the packet being read, once known; else 0 */
    uint8_t key[CHACHAPOLY_KEY_BYTES];
};

enum packet_status {
    PACKET_INCOMPLETE,
    PACKET_READY,
    PACKET_CORRUPT, /* any broken rule: length, padding or tag; the caller can't tell which */
};

struct packet {
    uint8_t *payload;     /* inside the buffer */
    size_t payload_bytes; /* at least 1 */
    size_t total_bytes;   /* how much of the buffer the packet was */
};

/*
 * Opens the packet at the start of `bytes` in place if all of it is there. Call again with the same
 * start and more bytes after PACKET_INCOMPLETE; the direction is beyond use after PACKET_CORRUPT.
 * Never looks for more than the direction's limit.
 */
enum packet_status packet_open(struct packet_direction *direction, uint8_t *bytes, size_t count,
                               struct packet *packet);

/* After PACKET_INCOMPLETE: how large the packet is in all, or 0 as long as not even its length has
 * arrived. Nothing vouches for that length yet. */
size_t packet_awaited_bytes(const struct packet_direction *direction);

/*
 * Seals the payload that stands at bytes + PACKET_HEADER_BYTES: writes the header in front of it,
 * padding and tag behind it. `bytes` has room for payload_bytes + PACKET_OVERHEAD_BYTES. Returns
 * the packet's size.
 */
size_t packet_seal(struct packet_direction *direction, uint8_t *bytes, size_t payload_bytes);

/* What packet_seal() makes of a payload of that many bytes once the direction has a key. */
size_t packet_sealed_bytes(size_t payload_bytes);

/* The direction's NEWKEYS: from the next packet on, `key` is in force. Under strict key exchange
 * the sequence number starts again at zero. */
void packet_new_keys(struct packet_direction *direction,
                     const uint8_t key[static CHACHAPOLY_KEY_BYTES], bool strict);

#endif
