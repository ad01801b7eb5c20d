/*
 * What wrensshd-listen must decide, by a second reading of limit.h, clients.h and strangers.h.
 */
#ifndef WREN_LISTENER_MODEL_H
#define WREN_LISTENER_MODEL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MODEL_CLIENTS 160
#define MODEL_SOURCES 2048

/* An address or a network. */
struct listener_source {
    uint8_t bytes[17];
};

struct listener_client {
    pid_t pid;    /* 0: free, -1: reaped */
    pid_t reaped; /* what it was */
    struct listener_source source;
    int pipe; /* its number, or -1 */
    bool here, logged_in, silent, listed;
    char outcome;
    bool ended;
};

extern struct listener_model {
    unsigned limit, per_source, start, percent, full;
    bool no_drop, penalties;
    int64_t threshold_ms, most_ms;
    bool reports;
    unsigned count; /* of listed clients */
    struct listener_client clients[MODEL_CLIENTS];
    bool uncertain; /* of two penalties that expire together, either may have been forgotten */
    unsigned penalty_count;
    struct {
        struct listener_source source;
        int64_t until_ms;
        bool refuses;
    } table[MODEL_SOURCES];
} listener_model;

struct listener_source listener_source_of(const struct sockaddr_in6 *address);

/* Whether one more client from here must be let in now. */
bool listener_admits(const struct listener_source *source, unsigned random_percent, int64_t now_ms);

/* NULL if the model has no room for its child. */
struct listener_client *listener_add(const struct listener_source *source, pid_t pid, int pipe);

/* The listener has read these bytes of the client's pipe, 0 for its end. True if they tell the end
 * of the connection. */
bool listener_reads(struct listener_client *client, const char *bytes, size_t count);

/* The listener takes the client off its list. */
void listener_removes(struct listener_client *client, int64_t now_ms);

#endif
