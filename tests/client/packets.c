#include <sodium.h>
#include <string.h>

#include "ssh_client.h"

size_t packet_padding(size_t payload_bytes, bool sealed)
{
    size_t counted = (sealed ? 1 : 5) + payload_bytes + 4;
    return 4 + (8 - counted % 8) % 8;
}

size_t packet_frame(uint8_t *out, const void *payload, size_t payload_bytes, size_t padding)
{
    struct fields packet = {out, 0, SIZE_MAX, false};
    fields_put(&packet, "ubrf", (uint32_t)(1 + payload_bytes + padding), (int)padding, payload,
               payload_bytes, 0xa5, padding);
    return packet.used;
}

static void write_nonce(uint8_t nonce[static 8], uint32_t sequence)
{
    struct fields fields = {nonce, 0, 8, false};
    fields_number(&fields, 8, sequence);
}

void packet_crypt(uint8_t *packet, size_t body_bytes, const uint8_t key[static 64],
                  uint32_t sequence)
{
    uint8_t nonce[8];
    write_nonce(nonce, sequence);
    crypto_stream_chacha20_xor(packet, packet, 4, nonce, key + 32);
    crypto_stream_chacha20_xor_ic(packet + 4, packet + 4, body_bytes, nonce, 1, key);
}

void packet_tag(uint8_t tag[static PACKET_TAG_BYTES], const uint8_t *sealed, size_t sealed_bytes,
                const uint8_t key[static 64], uint32_t sequence)
{
    uint8_t nonce[8], once[32];
    write_nonce(nonce, sequence);
    crypto_stream_chacha20(once, sizeof(once), nonce, key);
    crypto_onetimeauth_poly1305(tag, sealed, sealed_bytes, once);
}

void packet_encrypt(uint8_t *packet, size_t body_bytes, const uint8_t key[static 64],
                    uint32_t sequence)
{
    packet_crypt(packet, body_bytes, key, sequence);
    packet_tag(packet + 4 + body_bytes, packet, 4 + body_bytes, key, sequence);
}
