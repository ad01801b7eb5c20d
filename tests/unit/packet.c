#include "net.h"
#include "transport.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "limit.h"
#include "unit.h"
#include "wire_rig.h"

/* The test is the peer: `peer` uses libsodium to encrypt for `direction` and to decrypt from it. */
static struct packet_direction direction;
static struct wire peer;
static uint8_t packet_bytes[WIRE_ROOM], payload_bytes[WIRE_ROOM], opened[WIRE_ROOM];

static const uint8_t *test_key(uint8_t first)
{
    static uint8_t key[CHACHAPOLY_KEY_BYTES];
    for (size_t i = 0; i < sizeof(key); i++) {
        key[i] = (uint8_t)(first + 3 * i);
    }
    return key;
}

static void start(void)
{
    ck_assert_int_ge(sodium_init(), 0);
    direction = (struct packet_direction){0};
    peer = (struct wire){0};
    for (size_t i = 0; i < sizeof(payload_bytes); i++) {
        payload_bytes[i] = (uint8_t)(i * 31 + i / 256);
    }
}

UNIT_FIXTURE(start, NULL);
UNIT_TIMEOUT(60);

static void seal_both(bool sealed)
{
    if (sealed) {
        packet_new_keys(&direction, test_key(1), false);
        memcpy(peer.key, test_key(1), sizeof(peer.key));
        peer.sealed = true;
    }
}

/* The packet must be opened whole, in a block of exactly its size. */
static void expect_opened(const uint8_t *bytes, size_t count, size_t payload_expected)
{
    struct packet packet;
    uint8_t *exact = malloc(count);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, bytes, count);
    ck_assert_int_eq(packet_open(&direction, exact, count, &packet), PACKET_READY);
    ck_assert_uint_eq(packet.total_bytes, count);
    ck_assert_uint_eq(packet.payload_bytes, payload_expected);
    ck_assert_mem_eq(packet.payload, payload_bytes, payload_expected);
    free(exact);
}

/* 0 in the clear, 1 sealed; PACKET_CORRUPT is all that may be told of any violation. */
static void expect_corrupt(const uint8_t *bytes, size_t count)
{
    struct packet packet;
    memcpy(opened, bytes, count);
    ck_assert_int_eq(packet_open(&direction, opened, count, &packet), PACKET_CORRUPT);
}

static size_t seal_ours(size_t count)
{
    uint8_t *exact = malloc(count + PACKET_OVERHEAD_BYTES);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact + PACKET_HEADER_BYTES, payload_bytes, count);
    size_t total = packet_seal(&direction, exact, count);
    ck_assert_uint_le(total, count + PACKET_OVERHEAD_BYTES);
    memcpy(packet_bytes, exact, total);
    free(exact);
    return total;
}

static size_t next_size(size_t size)
{
    return size < 600 ? size + 1 : size + 331;
}

TEST_EACH(seals_every_size, 2)
{
    seal_both(_i == 1);
    uint32_t packets = 0;
    uint64_t bytes = 0;
    for (size_t size = 1; size <= 33000; size = next_size(size)) {
        size_t total = seal_ours(size), found;
        ck_assert_uint_eq(wire_open(&peer, packet_bytes, total, opened, &found), total);
        ck_assert_uint_eq(found, size);
        ck_assert(_i == 0 || total == packet_sealed_bytes(size));
        ck_assert_mem_eq(opened, payload_bytes, size);
        ck_assert_uint_eq(direction.packets, ++packets);
        ck_assert_uint_eq(direction.bytes, bytes += total);
        ck_assert_uint_eq(direction.sequence, peer.sequence);
    }
}

TEST_EACH(opens_every_size, 2)
{
    seal_both(_i == 1);
    uint32_t packets = 0;
    uint64_t bytes = 0;
    for (size_t size = 1; size <= 33000; size = next_size(size)) {
        size_t total = wire_seal(&peer, packet_bytes, payload_bytes, size);
        expect_opened(packet_bytes, total, size);
        ck_assert_uint_eq(direction.packets, ++packets);
        ck_assert_uint_eq(direction.bytes, bytes += total);
        ck_assert_uint_eq(direction.sequence, peer.sequence);
    }
}

TEST(in_the_clear_padding_is_the_least_and_zero)
{
    for (size_t size = 1; size < 64; size++) {
        size_t total = seal_ours(size), padding = packet_bytes[4];
        ck_assert(padding >= 4 && padding < 12);
        ck_assert_uint_eq(total % 8, 0);
        ck_assert_uint_eq(total, 5 + size + padding);
        for (size_t i = 0; i < padding; i++) {
            ck_assert_uint_eq(packet_bytes[5 + size + i], 0);
        }
    }
}

TEST_EACH(opens_any_legal_padding, 2)
{
    seal_both(_i == 1);
    for (unsigned padding = 4; padding < 256; padding++) {
        size_t size = 1 + (8 - ((_i == 1 ? 1U : 5U) + 1 + padding) % 8) % 8;
        size_t total = wire_seal_padded(&peer, packet_bytes, payload_bytes, size, (uint8_t)padding);
        expect_opened(packet_bytes, total, size);
    }
}

TEST_EACH(arrives_byte_by_byte, 2)
{
    seal_both(_i == 1);
    for (int round = 0; round < 3; round++) {
        struct packet packet;
        size_t total = wire_seal(&peer, packet_bytes, payload_bytes, 100);
        memset(opened, 0xee, sizeof(opened));
        for (size_t count = 0; count < total; count++) {
            ck_assert_int_eq(packet_open(&direction, opened, count, &packet), PACKET_INCOMPLETE);
            opened[count] = packet_bytes[count];
        }
        ck_assert_int_eq(packet_open(&direction, opened, total, &packet), PACKET_READY);
        ck_assert_uint_eq(packet.payload_bytes, 100);
        ck_assert_mem_eq(packet.payload, payload_bytes, 100);
    }
}

TEST_EACH(two_in_one_buffer, 2)
{
    seal_both(_i == 1);
    size_t first = wire_seal(&peer, packet_bytes, payload_bytes, 30);
    size_t second = wire_seal(&peer, packet_bytes + first, payload_bytes, 31);
    struct packet packet;
    size_t both = first + second;
    ck_assert_int_eq(packet_open(&direction, packet_bytes, both, &packet), PACKET_READY);
    ck_assert_uint_eq(packet.total_bytes, first);
    ck_assert_int_eq(packet_open(&direction, packet_bytes + first, second, &packet), PACKET_READY);
    ck_assert_uint_eq(packet.payload_bytes, 31);
}

/* ---- violations ------------------------------------------------------------------------------ */

/* Lengths that no packet may have: in the clear, length + 4 is a multiple of 8; sealed, length. */
static const struct bad_length {
    bool sealed;
    uint32_t length;
} bad_lengths[] = {
    {false, 0},          {false, 1},          {false, 4},          {false, 5},
    {false, 8},          {false, 11},         {false, 13},         {false, 16},
    {false, 35000},      {false, 35004},      {false, 35004 + 8},  {false, 262144},
    {false, 0x7ffffffc}, {false, 0x80000004}, {false, 0xfffffffc}, {true, 0},
    {true, 1},           {true, 4},           {true, 5},           {true, 7},
    {true, 12},          {true, 20},          {true, 34984},       {true, 35000},
    {true, 262144},      {true, 0x80000000},  {true, 0xfffffff8},
};

TEST_EACH(bad_lengths_are_told_from_the_length_alone, COUNT_OF(bad_lengths))
{
    const struct bad_length *bad = &bad_lengths[_i];
    seal_both(bad->sealed);
    size_t body_bytes = bad->length < 64 ? bad->length : 64;
    uint8_t body[64] = {4, 2};
    wire_seal_body(&peer, packet_bytes, bad->length, body, body_bytes);
    expect_corrupt(packet_bytes, 4);
}

TEST_EACH(the_largest_packet_fits, 2)
{
    seal_both(_i == 1);
    uint32_t length = _i == 1 ? 34976 : 34996;
    size_t total = wire_seal_padded(&peer, packet_bytes, payload_bytes, length - 1 - 11, 11);
    ck_assert_uint_le(total, LIMIT_PACKET_BYTES);
    expect_opened(packet_bytes, total, length - 1 - 11);
}

TEST(larger_packets_after_login)
{
    static const uint32_t too_long[] = {262145, 262148, 262152, 0x7ffffff8};
    struct packet packet;
    seal_both(true);
    direction.logged_in = true;
    for (uint32_t length = 34976; length <= 262144; length += 56792) {
        size_t total = wire_seal_padded(&peer, packet_bytes, payload_bytes, length - 1 - 11, 11);
        ck_assert_uint_eq(total, 4 + length + 16);
        memcpy(opened, packet_bytes, total);
        ck_assert_uint_eq(packet_awaited_bytes(&direction), 0);
        ck_assert_int_eq(packet_open(&direction, opened, 4, &packet), PACKET_INCOMPLETE);
        ck_assert_uint_eq(packet_awaited_bytes(&direction), total);
        ck_assert_int_eq(packet_open(&direction, opened, total - 1, &packet), PACKET_INCOMPLETE);
        expect_opened(packet_bytes, total, length - 1 - 11);
        ck_assert_uint_eq(packet_awaited_bytes(&direction), 0);
    }
    for (size_t i = 0; i < sizeof(too_long) / sizeof(too_long[0]); i++) {
        struct packet_direction before = direction;
        uint8_t body[64] = {4, 2};
        wire_seal_body(&peer, packet_bytes, too_long[i], body, sizeof(body));
        expect_corrupt(packet_bytes, 4);
        direction = before;
        peer.sequence = direction.sequence;
    }
}

TEST_EACH(bad_padding, 2)
{
    seal_both(_i == 1);
    /* Shorter than 4; no payload left; more than the packet; the last that fits is 1 of payload. */
    static const uint8_t paddings[] = {0, 1, 2, 3, 0, 0, 255};
    uint32_t length = _i == 1 ? 64 : 60;
    uint8_t body[64] = {0};
    for (size_t i = 0; i < sizeof(paddings); i++) {
        struct packet_direction before = direction;
        body[0] = paddings[i];
        if (i >= 4 && i < 6) {
            body[0] = (uint8_t)(length - (i == 4 ? 1 : 0));
        }
        expect_corrupt(packet_bytes, wire_seal_body(&peer, packet_bytes, length, body, length));
        direction = before;
        direction.length = 0;
        direction.sequence = peer.sequence;
    }
    body[0] = (uint8_t)(length - 2);
    struct packet packet;
    size_t total = wire_seal_body(&peer, packet_bytes, length, body, length);
    ck_assert_int_eq(packet_open(&direction, packet_bytes, total, &packet), PACKET_READY);
    ck_assert_uint_eq(packet.payload_bytes, 1);
}

/* Every single bit of a sealed packet; in the length it may also mean that more must come. */
TEST(every_flipped_bit_is_found)
{
    seal_both(true);
    size_t total = wire_seal(&peer, packet_bytes, payload_bytes, 40);
    for (size_t bit = 0; bit < 8 * total; bit++) {
        struct packet_direction copy = direction;
        struct packet packet;
        memcpy(opened, packet_bytes, total);
        opened[bit / 8] ^= (uint8_t)(1 << bit % 8);
        enum packet_status status = packet_open(&copy, opened, total, &packet);
        if (bit < 32 && status == PACKET_INCOMPLETE) {
            memset(opened + total, 0, LIMIT_PACKET_BYTES);
            status = packet_open(&copy, opened, LIMIT_PACKET_BYTES, &packet);
        }
        ck_assert_int_eq(status, PACKET_CORRUPT);
        ck_assert_uint_eq(copy.sequence, direction.sequence);
        ck_assert_uint_eq(copy.packets, direction.packets);
    }
    expect_opened(packet_bytes, total, 40);
}

TEST(another_sequence_number_is_corrupt)
{
    seal_both(true);
    peer.sequence = 1;
    size_t total = wire_seal(&peer, packet_bytes, payload_bytes, 8);
    struct packet packet;
    enum packet_status status = packet_open(&direction, packet_bytes, total, &packet);
    ck_assert_int_ne(status, PACKET_READY);
}

/* ---- keys and numbers ------------------------------------------------------------------------ */

TEST(sequence_numbers_wrap)
{
    seal_both(true);
    direction.sequence = peer.sequence = UINT32_MAX - 1;
    for (int i = 0; i < 4; i++) {
        expect_opened(packet_bytes, wire_seal(&peer, packet_bytes, payload_bytes, 50), 50);
    }
    ck_assert_uint_eq(direction.sequence, 2);
    direction.sequence = peer.sequence = UINT32_MAX;
    for (int i = 0; i < 2; i++) {
        size_t total = seal_ours(50), found;
        ck_assert_uint_eq(wire_open(&peer, packet_bytes, total, opened, &found), total);
    }
    ck_assert_uint_eq(direction.sequence, 1);
}

TEST_EACH(new_keys_reset_what_they_should, 2)
{
    bool strict = _i == 1;
    for (int i = 0; i < 5; i++) {
        expect_opened(packet_bytes, wire_seal(&peer, packet_bytes, payload_bytes, 9), 9);
    }
    for (uint8_t exchange = 1; exchange < 4; exchange++) {
        uint32_t before = direction.sequence;
        packet_new_keys(&direction, test_key(exchange), strict);
        ck_assert(direction.sealed);
        ck_assert_uint_eq(direction.packets + direction.bytes, 0);
        ck_assert_uint_eq(direction.sequence, strict ? 0 : before);
        peer.sealed = true;
        peer.sequence = direction.sequence;
        memcpy(peer.key, test_key(exchange), sizeof(peer.key));
        for (uint32_t i = 1; i < 4; i++) {
            expect_opened(packet_bytes, wire_seal(&peer, packet_bytes, payload_bytes, 99), 99);
            ck_assert_uint_eq(direction.packets, i);
        }
    }
}
