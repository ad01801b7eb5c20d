#include "net.h"

/* RFC 4253 section 6: at least 4 bytes of padding, up to a multiple of the block size, which is 8
 * for this cipher. */
#define PADDING_MIN_BYTES 4
#define BLOCK_BYTES       8

#define LENGTH_BYTES CHACHAPOLY_LENGTH_BYTES

static size_t tag_bytes(const struct packet_direction *direction)
{
    return direction->sealed ? CHACHAPOLY_TAG_BYTES : 0;
}

/* The bytes that must be a multiple of the block size. With this cipher packet_length does not
 * count (draft-ietf-sshm-chacha20-poly1305); without a cipher it does. */
static size_t aligned_bytes(const struct packet_direction *direction, size_t packet_length)
{
    return direction->sealed ? packet_length : packet_length + LENGTH_BYTES;
}

static bool length_is_valid(const struct packet_direction *direction, uint32_t length)
{
    size_t most_bytes = direction->logged_in ? LIMIT_LOGGED_IN_PACKET_BYTES : LIMIT_PACKET_BYTES;
    /* At least padding_length, a message number and the smallest padding. */
    return length >= 1 + 1 + PADDING_MIN_BYTES &&
           length <= most_bytes - LENGTH_BYTES - tag_bytes(direction) &&
           aligned_bytes(direction, length) % BLOCK_BYTES == 0;
}

static void count_packet(struct packet_direction *direction, size_t bytes)
{
    direction->sequence++;
    direction->packets++;
    direction->bytes += bytes;
}

size_t packet_awaited_bytes(const struct packet_direction *direction)
{
    return direction->length == 0 ? 0 : LENGTH_BYTES + direction->length + tag_bytes(direction);
}

enum packet_status packet_open(struct packet_direction *direction, uint8_t *bytes, size_t count,
                               struct packet *packet)
{
    if (direction->length == 0) {
        if (count < LENGTH_BYTES) {
            return PACKET_INCOMPLETE;
        }
        uint32_t length = direction->sealed
                              ? chachapoly_length(bytes, direction->key, direction->sequence)
                              : big_endian_read(bytes);
        if (!length_is_valid(direction, length)) {
            return PACKET_CORRUPT;
        }
        direction->length = length;
    }
    size_t total = packet_awaited_bytes(direction);
    if (count < total) {
        return PACKET_INCOMPLETE;
    }
    if (direction->sealed &&
        !chachapoly_open(bytes, direction->length, direction->key, direction->sequence)) {
        return PACKET_CORRUPT;
    }
    size_t padding = bytes[LENGTH_BYTES];
    if (padding < PADDING_MIN_BYTES || padding + 2 > direction->length) {
        return PACKET_CORRUPT;
    }
    packet->payload = bytes + PACKET_HEADER_BYTES;
    packet->payload_bytes = direction->length - 1 - padding;
    packet->total_bytes = total;
    direction->length = 0;
    count_packet(direction, total);
    return PACKET_READY;
}

/* `bytes` are those of aligned_bytes(), without the padding. */
static size_t padding_for(size_t bytes)
{
    size_t padding = BLOCK_BYTES - bytes % BLOCK_BYTES;
    return padding < PADDING_MIN_BYTES ? padding + BLOCK_BYTES : padding;
}

size_t packet_sealed_bytes(size_t payload_bytes)
{
    size_t bytes = 1 + payload_bytes;
    return LENGTH_BYTES + bytes + padding_for(bytes) + CHACHAPOLY_TAG_BYTES;
}

size_t packet_seal(struct packet_direction *direction, uint8_t *bytes, size_t payload_bytes)
{
    size_t padding = padding_for(aligned_bytes(direction, 1 + payload_bytes));
    size_t length = 1 + payload_bytes + padding;
    big_endian_write(bytes, (uint32_t)length);
    bytes[LENGTH_BYTES] = (uint8_t)padding;
    /* Not random: the cipher hides the padding, and without a cipher there is nothing to hide. */
    memset(bytes + PACKET_HEADER_BYTES + payload_bytes, 0, padding);
    if (direction->sealed) {
        chachapoly_seal(bytes, length, direction->key, direction->sequence);
    }
    size_t total = LENGTH_BYTES + length + tag_bytes(direction);
    count_packet(direction, total);
    return total;
}

void packet_new_keys(struct packet_direction *direction,
                     const uint8_t key[static CHACHAPOLY_KEY_BYTES], bool strict)
{
    memcpy(direction->key, key, CHACHAPOLY_KEY_BYTES);
    direction->sealed = true;
    direction->packets = 0;
    direction->bytes = 0;
    if (strict) {
        direction->sequence = 0;
    }
}
