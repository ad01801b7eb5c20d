#include "clients.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* ---- sources --------------------------------------------------------------------------------- */

/* Marks the source in the last byte, which is zero for IPv4. */
#define IS_IPV6  6
#define IS_OTHER 1

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
    } else if (client->sin6_family != AF_INET6) {
        source->s6_addr[15] = IS_OTHER;
    } else if (source_is_mapped(&client->sin6_addr)) {
        memcpy(source, &client->sin6_addr.s6_addr[SOURCE_MAPPED_BYTES], 4);
    } else {
        memcpy(source, &client->sin6_addr, 8);
        source->s6_addr[15] = IS_IPV6;
    }
}

/* ---- clients --------------------------------------------------------------------------------- */

const char *clients_refuse(const struct clients *clients, const struct in6_addr *source)
{
    unsigned from_one = 0;
    for (unsigned i = 0; i < clients->limit; i++) {
        const struct client *client = &clients->table[i];
        from_one += client->child != 0 && memcmp(&client->source, source, sizeof(*source)) == 0;
    }
    return from_one >= clients->limit_per_source ? "too many from one address"
           : clients->count >= clients->limit    ? "too many"
                                                 : NULL;
}

/* The entry of a child, or with 0 a free one; NULL if there is none. */
static struct client *find(struct clients *clients, pid_t child)
{
    for (unsigned i = 0; i < clients->limit; i++) {
        if (clients->table[i].child == child) {
            return &clients->table[i];
        }
    }
    return NULL;
}

void clients_add(struct clients *clients, const struct in6_addr *source, pid_t child)
{
    *find(clients, 0) = (struct client){.child = child, .source = *source};
    clients->count++;
}

void clients_remove(struct clients *clients, pid_t child)
{
    struct client *client = find(clients, child);
    if (client != NULL) {
        client->child = 0;
        clients->count--;
    }
}
