/*
 * packet_open() of src/net/transport/packet.c: with any bytes, any count of them and any state that
 * earlier calls may have left, it stays inside the bytes, and what it returns lies inside its
 * packet. The cipher is a model: any length, any tag right or wrong, any plaintext.
 */
#include "net.h"
#include "transport.h"

#include <stdlib.h>

#include "copies.h"
#include "limit.h"

uint32_t chachapoly_length(const uint8_t *sealed, const uint8_t *key, uint32_t sequence)
{
    (void)sequence;
    PROVE(__CPROVER_r_ok(sealed, CHACHAPOLY_LENGTH_BYTES), "the length is there");
    PROVE(__CPROVER_r_ok(key, CHACHAPOLY_KEY_BYTES), "the key is there");
    return nondet_u32();
}

/* Decrypts: the one byte of the body that packet_open() reads gets any value. */
bool chachapoly_open(uint8_t *bytes, size_t body_bytes, const uint8_t *key, uint32_t sequence)
{
    (void)sequence;
    PROVE(__CPROVER_w_ok(bytes, CHACHAPOLY_LENGTH_BYTES + body_bytes + CHACHAPOLY_TAG_BYTES),
          "the whole packet is there");
    PROVE(__CPROVER_r_ok(key, CHACHAPOLY_KEY_BYTES), "the key is there");
    bytes[CHACHAPOLY_LENGTH_BYTES] = nondet_u8();
    return nondet_bool();
}

static size_t most(const struct packet_direction *direction)
{
    return direction->logged_in ? LIMIT_LOGGED_IN_PACKET_BYTES : LIMIT_PACKET_BYTES;
}

/* 0, or what an earlier call has found to be a valid length. */
static bool is_valid(const struct packet_direction *direction)
{
    size_t tag = direction->sealed ? CHACHAPOLY_TAG_BYTES : 0;
    size_t aligned = (size_t)direction->length + (direction->sealed ? 0 : CHACHAPOLY_LENGTH_BYTES);
    return direction->length == 0 ||
           (direction->length >= 6 && aligned % 8 == 0 &&
            direction->length <= most(direction) - CHACHAPOLY_LENGTH_BYTES - tag);
}

static void prove_packet(const struct packet *packet, const uint8_t *bytes, size_t count)
{
    PROVE(packet->total_bytes <= count, "the packet has arrived");
    PROVE(packet->payload == bytes + PACKET_HEADER_BYTES, "the payload follows the header");
    PROVE(packet->payload_bytes >= 1, "the payload has a message number");
    PROVE(packet->payload_bytes + PACKET_HEADER_BYTES + 4 <= packet->total_bytes,
          "the payload and the least padding lie in the packet");
}

int main(void)
{
    struct packet_direction direction;
    struct packet packet;
    size_t count = nondet_size();
    ASSUME(count <= PROOF_BYTES);
    ASSUME(direction.sequence < UINT32_MAX && direction.packets < UINT32_MAX &&
           direction.bytes < UINT32_MAX);
    ASSUME(is_valid(&direction));
    struct packet_direction before = direction;
    uint8_t *bytes = malloc(count);

    switch (packet_open(&direction, bytes, count, &packet)) {
    case PACKET_READY:
        prove_packet(&packet, bytes, count);
        PROVE(packet.total_bytes <= most(&before), "no packet is above the limit");
        PROVE(direction.length == 0, "the next length is not known");
        PROVE(direction.sequence == before.sequence + 1, "the packet is counted");
        break;
    case PACKET_INCOMPLETE:
        PROVE(is_valid(&direction), "the state stays valid");
        PROVE(packet_awaited_bytes(&direction) == 0 || packet_awaited_bytes(&direction) > count,
              "it waits for bytes that are missing");
        PROVE(packet_awaited_bytes(&direction) <= most(&before), "it never waits for too much");
        PROVE(direction.sequence == before.sequence, "nothing is counted");
        break;
    default:
        PROVE(direction.sequence == before.sequence, "a corrupt packet is not counted");
        break;
    }
    PROVE(direction.sealed == before.sealed && direction.logged_in == before.logged_in,
          "a packet changes neither keys nor limits");
    return 0;
}
