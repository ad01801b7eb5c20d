/*
 * packet_seal() of src/net/transport/packet.c: for any payload of up to 70,000 bytes it writes only
 * into the room that its header promises, leaves the payload as it is, and makes a packet that the
 * other side must accept.
 */
#include "net.h"
#include "transport.h"

#include <stdlib.h>

#include "copies.h"

void chachapoly_seal(uint8_t *bytes, size_t body_bytes, const uint8_t *key, uint32_t sequence)
{
    (void)sequence;
    PROVE(__CPROVER_w_ok(bytes, CHACHAPOLY_LENGTH_BYTES + body_bytes + CHACHAPOLY_TAG_BYTES),
          "there is room for the body and the tag");
    PROVE(__CPROVER_r_ok(key, CHACHAPOLY_KEY_BYTES), "the key is there");
    PROVE(body_bytes % 8 == 0, "the body is a multiple of the block");
}

int main(void)
{
    struct packet_direction direction;
    size_t payload_bytes = nondet_size();
    size_t place = nondet_size();
    ASSUME(payload_bytes >= 1 && payload_bytes <= PROOF_BYTES && place < payload_bytes);
    ASSUME(direction.sequence < UINT32_MAX && direction.packets < UINT32_MAX &&
           direction.bytes < UINT32_MAX);
    struct packet_direction before = direction;
    uint8_t *bytes = malloc(payload_bytes + PACKET_OVERHEAD_BYTES);
    uint8_t byte = bytes[PACKET_HEADER_BYTES + place];

    size_t total = packet_seal(&direction, bytes, payload_bytes);
    size_t tag = direction.sealed ? CHACHAPOLY_TAG_BYTES : 0;
    size_t padding = bytes[CHACHAPOLY_LENGTH_BYTES];
    PROVE(total <= payload_bytes + PACKET_OVERHEAD_BYTES, "the packet fits into its room");
    PROVE(total == PACKET_HEADER_BYTES + payload_bytes + padding + tag,
          "the size is that of its parts");
    PROVE(padding >= 4, "there is enough padding");
    PROVE((total - tag - (direction.sealed ? CHACHAPOLY_LENGTH_BYTES : 0)) % 8 == 0,
          "the packet is a multiple of the block");
    PROVE(!direction.sealed || total == packet_sealed_bytes(payload_bytes),
          "packet_sealed_bytes() says the same");
    PROVE(bytes[PACKET_HEADER_BYTES + place] == byte, "the payload stays as it is");
    PROVE(direction.sequence == before.sequence + 1, "the packet is counted");
    return 0;
}
