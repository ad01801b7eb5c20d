/*
 * The receiving side of ipc.h, for the monitor and for the session process: receives one request,
 * finds it in the process's table, checks its size and phase, and sends the reply.
 */
#ifndef WREN_REQUESTS_H
#define WREN_REQUESTS_H

#include <stddef.h>
#include <stdint.h>

#include "ipc.h"

/* Descriptors that go out with a reply; they are closed here once they are sent. */
struct passed {
    unsigned count;
    int descriptors[IPC_REPLY_DESCRIPTORS];
};

struct reply {
    size_t bytes; /* 0 for none */
    union {
        uint32_t type;
        struct ipc_start_reply start;
        struct ipc_sign_reply sign;
        struct ipc_prove_reply prove;
        struct ipc_auth_reply auth;
        struct ipc_done done;
    } body;
    struct passed passed;
};

/* For requests that are answered with struct ipc_done: sets the type, and `done` to 0. */
void reply_done(struct reply *reply, uint32_t type);

/* A row of a process's table, whose index is the request's type; all zero where there is no such
 * request. */
struct request_row {
    size_t bytes;                              /* of the struct */
    size_t (*tail_bytes)(const void *request); /* NULL: no tail; REQUEST_TAIL_TOO_LONG */
    unsigned phases;                           /* a set of the process's phases */
    /* Handles a request that has just the right size, in `process`. Returns NULL after filling in
     * the reply, or why the connection must end. */
    const char *(*handle)(void *process, const void *request, struct reply *reply);
};

/* No tail of any request can be so long. */
#define REQUEST_TAIL_TOO_LONG SIZE_MAX

enum request_outcome {
    REQUEST_NONE,   /* there was nothing to receive */
    REQUEST_SERVED, /* or there is a reason to end: *wrong */
    REQUEST_CLOSED, /* the network process has closed its end */
};

/*
 * Receives one request into `request` (aligned for any of them, `room` bytes, wiped afterwards: it
 * may have held the secret of a key exchange), and answers it. A NUL follows the request, so that a
 * text at its end is a C string: the longest has room - 1 bytes. Never waits, neither for a request
 * nor for room for the reply: a sender that does not read its replies ends the connection. `phase`
 * is the process's phase. Sets *wrong to NULL, or to why the connection must end.
 */
enum request_outcome request_serve(int socket, const struct request_row table[static IPC_TYPES],
                                   unsigned phase, void *process, void *request, size_t room,
                                   const char **wrong);

#endif
