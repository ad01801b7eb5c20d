/*
 * What wrensshd-listen must decide, by a second reading of limit.h and listen.h.
 */
#ifndef WREN_LISTENER_MODEL_H
#define WREN_LISTENER_MODEL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MODEL_CLIENTS 160

/* An address or a network. */
struct listener_source {
    uint8_t bytes[17];
};

struct listener_client {
    pid_t pid; /* 0: free */
    struct listener_source source;
    bool ended;
};

extern struct listener_model {
    unsigned limit, per_source;
    unsigned count;
    struct listener_client clients[MODEL_CLIENTS];
} listener_model;

struct listener_source listener_source_of(const struct sockaddr_in6 *address);

/* Whether one more client from here must be let in now. `reaps`: those that have ended do not
 * count. */
bool listener_admits(const struct listener_source *source, bool reaps);

/* NULL if the model has no room for its child. */
struct listener_client *listener_add(const struct listener_source *source, pid_t pid);

#endif
