/*
 * The bytes on the wire, read by a second packet layer: they must be the identification line, and
 * then the packets that were made, in their order, each with the tag of its key and number.
 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "base.h"

#define SEALED (sizeof(world.sealed) / sizeof(world.sealed[0]))

void wire_sealed(const uint8_t *payload, size_t payload_bytes)
{
    FUZZ_CHECK(world.sealed_end - world.sealed_first < SEALED);
    world.sealed[world.sealed_end++ % SEALED] =
        (struct sealed){(uint32_t)payload_bytes, digest_of(payload, payload_bytes)};
}

/* Returns how many bytes were used, or 0 if more must come. */
static size_t take_line(const uint8_t *bytes, size_t count)
{
    static const char line[] = SSH_SERVER_VERSION "\r\n";
    size_t length = sizeof(line) - 1;
    FUZZ_CHECK(memcmp(bytes, line, count < length ? count : length) == 0);
    if (count < length) {
        return 0;
    }
    world.wire_identified = true;
    return length;
}

static void check_packet(const uint8_t *packet, size_t length)
{
    FUZZ_CHECK(world.sealed_first < world.sealed_end);
    const struct sealed *sealed = &world.sealed[world.sealed_first++ % SEALED];
    size_t padding = packet[4];
    size_t counted = world.wire_epoch > 0 ? length : 4 + length;
    FUZZ_CHECK(padding >= 4 && counted % 8 == 0 && length - 1 - padding == sealed->payload_bytes);
    FUZZ_CHECK(digest_of(packet + 5, sealed->payload_bytes) == sealed->digest);
}

static void check_tag(const uint8_t *packet, size_t length)
{
    uint8_t tag[CHACHAPOLY_TAG_BYTES];
    cipher_tag(tag, packet, length, world.wire_epoch, world.wire_sequence);
    FUZZ_CHECK(memcmp(packet + 4 + length, tag, sizeof(tag)) == 0);
}

static size_t take_packet(const uint8_t *bytes, size_t count)
{
    if (count < 4) {
        return 0;
    }
    size_t length = big_endian_read(bytes);
    size_t total = 4 + length + (world.wire_epoch > 0 ? CHACHAPOLY_TAG_BYTES : 0);
    FUZZ_CHECK(length >= 6 && total <= LIMIT_PACKET_BYTES + PACKET_OVERHEAD_BYTES);
    if (count < total) {
        return 0;
    }
    check_packet(bytes, length);
    if (world.wire_epoch > 0) {
        check_tag(bytes, length);
    }
    world.wire_sequence++;
    if (bytes[5] == SSH_MSG_NEWKEYS) {
        world.wire_epoch++;
        world.wire_sequence = world.strict ? 0 : world.wire_sequence;
    }
    return total;
}

void wire_written(const uint8_t *bytes, size_t count)
{
    if (count > world.wire_room - world.wire_bytes) {
        world.wire_room = 2 * (world.wire_bytes + count);
        world.wire = realloc(world.wire, world.wire_room);
        if (world.wire == NULL) {
            abort();
        }
    }
    memcpy(world.wire + world.wire_bytes, bytes, count);
    world.wire_bytes += count;
    world.wire_total += count;
    size_t done = 0, part;
    do {
        const uint8_t *at = world.wire + done;
        size_t left = world.wire_bytes - done;
        part = world.wire_identified ? take_packet(at, left) : take_line(at, left);
        if (part > 0 && world.plain_tags) {
            world.wire_digest = world.wire_digest * 31 + digest_of(at, part);
        }
        done += part;
    } while (part > 0);
    memmove(world.wire, world.wire + done, world.wire_bytes - done);
    world.wire_bytes -= done;
}

/* After a run: a client that reads all has got whole packets, DISCONNECT the last. */
void wire_end(void)
{
    const struct connection *connection = world.connection;
    FUZZ_CHECK(world.wire_total == connection->socket.bytes_out);
    if (connection->end.disconnected && world.socket_room == UNLIMITED && world.write_error == 0 &&
        connection->output_end == 0) {
        FUZZ_CHECK(world.wire_bytes == 0);
        FUZZ_CHECK(world.sealed_first == world.sealed_end && world.said_disconnect);
    }
}
