/*
 * The monitor's requests (ipc.h): one table says which may come when and how large they are.
 */
#ifndef WREN_MONITOR_REQUESTS_H
#define WREN_MONITOR_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc.h"
#include "monitor_state.h"

/* Room for any of them. */
union monitor_request {
    uint32_t type;
    struct ipc_sign sign;
    struct ipc_end end;                           /* the one with the strictest alignment */
    uint8_t bytes[IPC_MONITOR_REQUEST_BYTES + 1]; /* and a NUL */
};

/* Of no use after the login, and between two requests: given back to the system when the monitor
 * rests. */
struct monitor_spare {
    struct login_scratch scratch;
    union monitor_request request; /* the one that is being served */
};

/* All of the monitor's memory; the session process gives its copy back. On pages of its own. */
struct monitor_memory {
    struct monitor monitor;
    struct monitor_spare spare;
};

/*
 * Receives one request into `request` and answers it. A request that breaks a rule kills the
 * connection with the reason in the log; so does one whose reply the network process does not take.
 * An end of file ends the connection without a reason: the network process's exit gives it.
 * Never waits; returns false if there was nothing to receive.
 */
bool monitor_requests_serve(struct monitor *monitor, union monitor_request *request);

#endif
