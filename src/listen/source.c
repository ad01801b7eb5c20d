#include "source.h"

#include <arpa/inet.h>
#include <string.h>

/* Marks a network in the last byte, which is zero for IPv4. */
#define IS_IPV6 6

const uint8_t source_mapped[SOURCE_MAPPED_BYTES] = {[10] = 0xff, [11] = 0xff};

bool source_is_mapped(const struct in6_addr *address)
{
    return memcmp(address, source_mapped, sizeof(source_mapped)) == 0;
}

void source_read(struct in6_addr *source, const struct sockaddr_in6 *client)
{
    memset(source, 0, sizeof(*source));
    if (client->sin6_family == AF_INET) {
        memcpy(source, &((const struct sockaddr_in *)(const void *)client)->sin_addr, 4);
    } else if (source_is_mapped(&client->sin6_addr)) {
        memcpy(source, &client->sin6_addr.s6_addr[SOURCE_MAPPED_BYTES], 4);
    } else {
        memcpy(source, &client->sin6_addr, 8);
        source->s6_addr[15] = IS_IPV6;
    }
}

bool source_is(const struct in6_addr *source, const struct in6_addr *other)
{
    return memcmp(source, other, sizeof(*source)) == 0;
}

void source_write(char out[static SOURCE_TEXT_BYTES], const struct in6_addr *source)
{
    struct in6_addr network = *source;
    if (source->s6_addr[15] != IS_IPV6) {
        inet_ntop(AF_INET, source, out, SOURCE_TEXT_BYTES);
        return;
    }
    network.s6_addr[15] = 0;
    inet_ntop(AF_INET6, &network, out, INET6_ADDRSTRLEN);
    memcpy(out + strlen(out), "/64", sizeof("/64"));
}
