#include "listener_model.h"

#include <string.h>

#include "simulation.h"

struct listener_model listener_model;

struct listener_source listener_source_of(const struct sockaddr_in6 *address)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    struct listener_source source = {{0}};
    if (address->sin6_family == AF_UNIX) {
        source.bytes[0] = 1;
    } else if (address->sin6_family == AF_INET) {
        source.bytes[0] = 4;
        memcpy(source.bytes + 1, (const uint8_t *)address + 4, 4);
    } else if (memcmp(&address->sin6_addr, mapped, sizeof(mapped)) == 0) {
        source.bytes[0] = 4;
        memcpy(source.bytes + 1, address->sin6_addr.s6_addr + 12, 4);
    } else {
        source.bytes[0] = 6;
        memcpy(source.bytes + 1, &address->sin6_addr, 8);
    }
    return source;
}

bool listener_admits(const struct listener_source *source, bool reaps)
{
    unsigned from_one = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < MODEL_CLIENTS; i++) {
        const struct listener_client *client = &listener_model.clients[i];
        bool counts = client->pid != 0 && !(reaps && client->ended);
        count += counts;
        from_one += counts && memcmp(&client->source, source, sizeof(client->source)) == 0;
    }
    if (from_one >= listener_model.per_source) {
        simulation_goal("refuses-one");
        return false;
    }
    bool admitted = count < listener_model.limit;
    simulation_goal(admitted ? "admits" : "full");
    return admitted;
}

struct listener_client *listener_add(const struct listener_source *source, pid_t pid)
{
    for (unsigned i = 0; i < MODEL_CLIENTS; i++) {
        struct listener_client *client = &listener_model.clients[i];
        if (client->pid == 0) {
            *client = (struct listener_client){.pid = pid, .source = *source};
            listener_model.count++;
            SIMULATION_CHECK(listener_model.count <= listener_model.limit);
            return client;
        }
    }
    return NULL;
}
