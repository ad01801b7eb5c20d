/*
 * The session process's requests (ipc.h): one table says how large they are. It has one phase, from
 * the login to its end.
 */
#ifndef WREN_SESSION_REQUESTS_H
#define WREN_SESSION_REQUESTS_H

#include "ipc.h"
#include "requests.h"
#include "sessions.h"

/* Room for any of them. */
union session_request {
    uint32_t type;
    struct ipc_pty pty;                           /* the one with the strictest alignment */
    uint8_t bytes[IPC_SESSION_REQUEST_BYTES + 1]; /* and a NUL */
};

/* The one that is being served; of no use between two. */
extern union session_request session_request;

/* Receives one request from SESSION_DESCRIPTOR and answers it, as request_serve() does. */
enum request_outcome session_requests_serve(struct sessions *sessions, const char **wrong);

#endif
