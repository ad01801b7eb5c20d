/* The client's messages on their way: in packets, up to the product's next read(). */
#include <stdarg.h>
#include <string.h>

#include "world.h"

#define ARRIVING_BYTES (4 << 20)
#define MESSAGE_BYTES  300000

static uint8_t message[MESSAGE_BYTES];
struct fields saying = FIELDS_IN(message);

void say_begin(uint8_t number)
{
    saying.used = 0;
    fields_number(&saying, 1, number);
}

void say_end(void)
{
    FUZZ_CHECK(!saying.full);
    client_say(saying.bytes, saying.used);
}

void say(const char *format, ...)
{
    va_list arguments;
    saying.used = 0;
    va_start(arguments, format);
    fields_put_list(&saying, format, arguments);
    va_end(arguments);
    say_end();
}

void say_host_key(uint8_t byte)
{
    fields_put(&saying, "(s(f))", "ssh-ed25519", byte, (size_t)32);
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
    static uint8_t packet[MESSAGE_BYTES + 64];
    struct client *client = &world.client;
    bool sealed = client->epoch > 0;
    size_t total =
        packet_frame(packet, payload, payload_bytes, packet_padding(payload_bytes, sealed));
    if (sealed) {
        cipher_tag(packet + total, packet, total - 4, client->epoch, client->sequence);
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
