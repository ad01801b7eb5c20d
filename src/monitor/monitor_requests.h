/*
 * The requests to the monitor (ipc.h): a table has their phases, sizes and handlers.
 */
#ifndef WREN_MONITOR_REQUESTS_H
#define WREN_MONITOR_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc.h"
#include "monitor_state.h"

/*
 * Receives one request into `request` and answers it. A request that breaks a rule ends the
 * connection, with the reason in the log; so does a reply that the network process does not read.
 * An end of file ends the connection without a reason: the network process's exit gives it.
 * Never waits; returns false if there was no request.
 */
bool monitor_requests_serve(struct monitor *monitor, union monitor_request *request);

/* True if this sandbox of the network process suffices, which is logged; else the reason why not.
 */
bool monitor_judge_layers(char reason[static LIMIT_NOTE_BYTES + 1], const struct options *options,
                          bool as_root, uint32_t layers);

#endif
