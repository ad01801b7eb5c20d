#include "put.h"

#include <string.h>

#include "base.h"
#include "world.h"

#define ARRIVING_BYTES (4 << 20)

static uint8_t message[300000];
static size_t used;

/* ---- fields ---------------------------------------------------------------------------------- */

void put_begin(uint8_t number)
{
    used = 0;
    put_u8(number);
}

void put_u8(uint8_t value)
{
    put_bytes(&value, 1);
}

void put_u32(uint32_t value)
{
    uint8_t bytes[4];
    big_endian_write(bytes, value);
    put_bytes(bytes, sizeof(bytes));
}

void put_bytes(const void *bytes, size_t count)
{
    FUZZ_CHECK(count <= sizeof(message) - used);
    memcpy(message + used, bytes, count);
    used += count;
}

void put_text(const char *text)
{
    put_u32((uint32_t)strlen(text));
    put_bytes(text, strlen(text));
}

void put_fill(uint8_t byte, size_t count)
{
    FUZZ_CHECK(count <= sizeof(message) - used);
    memset(message + used, byte, count);
    used += count;
}

size_t put_string_begin(void)
{
    put_u32(0);
    return used;
}

void put_string_end(size_t mark)
{
    big_endian_write(message + mark - 4, (uint32_t)(used - mark));
}

void put_host_key(uint8_t byte)
{
    put_u32(51);
    put_text("ssh-ed25519");
    put_u32(32);
    put_fill(byte, 32);
}

void put_say(void)
{
    client_say(message, used);
}

/* ---- packets --------------------------------------------------------------------------------- */

void client_raw(const void *bytes, size_t count)
{
    struct client *client = &world.client;
    if (client->arriving_start == client->arriving_end) {
        client->arriving_start = client->arriving_end = 0;
    }
    /* A client that sends without end gives up. */
    client->closed = client->closed || count > ARRIVING_BYTES - client->arriving_end;
    if (client->closed) {
        return;
    }
    memcpy(client->arriving + client->arriving_end, bytes, count);
    client->arriving_end += count;
}

void client_say(const uint8_t *payload, size_t payload_bytes)
{
    static uint8_t packet[sizeof(message) + 64];
    struct client *client = &world.client;
    size_t counted = client->epoch > 0 ? 1 + payload_bytes : 5 + payload_bytes;
    size_t padding = 4 + (8 - (counted + 4) % 8) % 8;
    size_t length = 1 + payload_bytes + padding;
    big_endian_write(packet, (uint32_t)length);
    packet[4] = (uint8_t)padding;
    memcpy(packet + 5, payload, payload_bytes);
    memset(packet + 5 + payload_bytes, 0, padding);
    size_t total = 4 + length;
    if (client->epoch > 0) {
        cipher_tag(packet + total, packet, length, client->epoch, client->sequence);
        total += CHACHAPOLY_TAG_BYTES;
    }
    client->sequence++;
    client_raw(packet, total);
}

void client_corrupt(size_t from_end, uint8_t mask)
{
    struct client *client = &world.client;
    if (from_end < client->arriving_end - client->arriving_start) {
        client->arriving[client->arriving_end - 1 - from_end] ^= mask;
    }
}
