/*
 * The binary packet protocol (RFC 4253 section 6) of one direction: length, padding, sequence
 * number, encryption in place. No I/O.
 *
 *     uint32 packet_length | byte padding_length | payload | random padding | mac
 *
 * `mac` is the tag of chacha20-poly1305@openssh.com. Before a direction's first NEWKEYS its packets
 * are not encrypted and have no tag.
 */
#ifndef WREN_PACKET_H
#define WREN_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chachapoly.h"

/* packet_length and padding_length: the payload follows. */
#define PACKET_HEADER_BYTES (CHACHAPOLY_LENGTH_BYTES + 1)

/* The most bytes of a packet of ours besides its payload: header, 4 to 11 bytes of padding, tag. */
#define PACKET_OVERHEAD_BYTES (PACKET_HEADER_BYTES + 11 + CHACHAPOLY_TAG_BYTES)

struct packet_direction {
    bool sealed;       /* packets are encrypted and have a tag */
    bool logged_in;    /* the limit is LIMIT_LOGGED_IN_PACKET_BYTES, else LIMIT_PACKET_BYTES */
    uint32_t sequence; /* of the next packet; a key exchange comes long before it wraps */
    uint32_t packets;  /* since the last packet_new_keys() */
    uint32_t length;   /* packet_length of the packet that is being read; 0 if not known yet */
    uint64_t bytes;    /* of the packets counted above */
    uint8_t key[CHACHAPOLY_KEY_BYTES];
};

enum packet_status {
    PACKET_INCOMPLETE,
    PACKET_READY,
    PACKET_CORRUPT, /* wrong length, padding or tag: the caller must not know which */
};

struct packet {
    uint8_t *payload;     /* inside the buffer */
    size_t payload_bytes; /* at least 1 */
    size_t total_bytes;   /* of the whole packet in the buffer */
};

/*
 * Decrypts the packet at the start of `bytes` in place, if all of it is there. After
 * PACKET_INCOMPLETE call again with the same start and more bytes. After PACKET_CORRUPT the
 * direction must not be used any more. Never waits for more than the direction's limit.
 */
enum packet_status packet_open(struct packet_direction *direction, uint8_t *bytes, size_t count,
                               struct packet *packet);

/* After PACKET_INCOMPLETE: the size of the whole packet, or 0 if its length has not arrived yet.
 * The length is not authenticated. */
size_t packet_awaited_bytes(const struct packet_direction *direction);

/*
 * Makes a packet of the payload at bytes + PACKET_HEADER_BYTES: writes the header before it,
 * padding and tag after it, and encrypts. `bytes` has room for payload_bytes +
 * PACKET_OVERHEAD_BYTES. Returns the packet's size.
 */
size_t packet_seal(struct packet_direction *direction, uint8_t *bytes, size_t payload_bytes);

/* The size that packet_seal() returns for such a payload once the direction has a key. */
size_t packet_sealed_bytes(size_t payload_bytes);

/* After the direction's NEWKEYS: the next packet uses `key`. With strict key exchange its sequence
 * number is 0. */
void packet_new_keys(struct packet_direction *direction,
                     const uint8_t key[static CHACHAPOLY_KEY_BYTES], bool strict);

#endif
