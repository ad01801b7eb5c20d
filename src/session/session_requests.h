/*
 * The requests to the session process (ipc.h): a table has their sizes and handlers. The session
 * process has a single phase, from the login to its end.
 */
#ifndef WREN_SESSION_REQUESTS_H
#define WREN_SESSION_REQUESTS_H

#include "ipc.h"
#include "requests.h"
#include "sessions.h"

/* Room for any request, and its alignment. */
union session_request {
    uint32_t type;
    struct ipc_pty pty;                           /* has the strictest alignment */
    uint8_t bytes[IPC_SESSION_REQUEST_BYTES + 1]; /* request_serve() adds a NUL */
};

/* Receives one request from SESSION_DESCRIPTOR into `request` and answers it, as request_serve()
 * does. */
enum request_outcome session_requests_serve(struct sessions *sessions,
                                            union session_request *request, const char **wrong);

#endif
