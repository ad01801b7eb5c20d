/*
 * The requests of common/ipc.h: one table says which may come when and how large they are.
 */
#ifndef WREN_REQUESTS_H
#define WREN_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc.h"
#include "state.h"

/* Room for any request; each struct starts with its type. */
union request {
    uint32_t type;
    struct ipc_sign sign;
    struct ipc_end end; /* the one with the strictest alignment */
    uint8_t bytes[IPC_REQUEST_BYTES];
};

/*
 * Receives one request into `request` and answers it. A request that breaks a rule kills the
 * connection with the reason in the log; so does one whose reply the network process does not take.
 * An end of file ends the connection without a reason: the network process's exit gives it.
 * Never waits; returns false if there was nothing to receive.
 */
bool requests_serve(struct monitor *monitor, union request *request);

#endif
