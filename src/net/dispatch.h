/*
 * Which message may arrive in which phase, and who handles it: one table.
 *
 * A handler parses its message, checks that nothing is left over, acts, and returns the next phase.
 * Only dispatch.c stores the phase, unless the connection has ended.
 */
#ifndef WREN_DISPATCH_H
#define WREN_DISPATCH_H

#include <stddef.h>
#include <stdint.h>

#include "connection.h"
#include "reader.h"

typedef enum ssh_phase message_handler(struct connection *connection, struct reader *message);

enum dispatch_verdict {
    DISPATCH_HANDLE,
    DISPATCH_REFUSE,        /* DISCONNECT */
    DISPATCH_UNIMPLEMENTED, /* answer UNIMPLEMENTED and go on */
};

/* What to do with message `number` in `phase`. Sets *handler for DISPATCH_HANDLE. */
enum dispatch_verdict dispatch_lookup(uint8_t number, enum ssh_phase phase,
                                      message_handler **handler);

/* Handles one payload of at least one byte; `sequence` is the sequence number of its packet. */
void dispatch(struct connection *connection, const uint8_t *payload, size_t payload_bytes,
              uint32_t sequence);

/*
 * Handles what has arrived in the input: the client's identification line, then every packet that
 * is complete, as long as the output has room for an answer. Sets `input_waits` if that room is
 * missing. Data for programs stays in the input buffer until channel_poll_turn() writes it.
 */
void dispatch_input(struct connection *connection);

#endif
