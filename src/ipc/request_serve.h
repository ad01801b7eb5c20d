/*
 * The receiving side of ipc.h, in the monitor and in the session process: receives one request,
 * finds it in the process's table, checks its size and phase, has it handled, and sends the reply.
 */
#ifndef WREN_REQUEST_SERVE_H
#define WREN_REQUEST_SERVE_H

#include <stddef.h>
#include <stdint.h>

#include "ipc.h"

/* Descriptors that a reply carries. request_serve() closes them. */
struct passed {
    unsigned count;
    int descriptors[IPC_REPLY_DESCRIPTORS];
};

/* It comes to its handler as zeros, but for its type and its size. */
struct reply {
    size_t bytes; /* 0: nothing is sent */
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

/* A row of a process's table. The request's type is the index; rows of the other process's requests
 * are all zero. */
struct request_row {
    size_t bytes;                              /* of the struct */
    size_t (*tail_bytes)(const void *request); /* NULL: the request has no tail */
    unsigned phases;                           /* the phases in which it may come: a set */
    /* Handles a request of the right size, which is aligned for its struct; the tail follows it.
     * `process` is the state of the process. Fills in the reply and returns NULL, or returns why
     * the connection must end. */
    const char *(*handle)(void *process, const void *request, struct reply *reply);
    size_t reply_bytes; /* of the reply's struct; 0: the request has no reply */
};

/* For the tables of a process that has no phases, and as its present one. */
#define REQUEST_ALWAYS 1U

/* tail_bytes() returns this for a length above the limit. No request is so long. */
#define REQUEST_TAIL_TOO_LONG SIZE_MAX

enum request_outcome {
    REQUEST_NONE,   /* there was nothing to receive */
    REQUEST_SERVED, /* handled, or *wrong says why the connection must end */
    REQUEST_CLOSED, /* the network process has closed its end */
};

/*
 * Receives one request and answers it. `request` has `room` bytes and is aligned for any request;
 * it is wiped afterwards, as it may have held K of a key exchange. A NUL is put after the request,
 * so that a text at its end is a C string: the longest request has room - 1 bytes. Never waits for
 * a request, nor for space for the reply: a network process that does not read its replies ends the
 * connection. `phase` is the process's present phase. Sets *wrong to NULL, or to the reason why the
 * connection must end.
 */
enum request_outcome request_serve(int socket, const struct request_row table[static IPC_TYPES],
                                   unsigned phase, void *process, void *request, size_t room,
                                   const char **wrong);

#endif
