/*
 * find_row() of src/common/requests.c with the table of src/session/session_requests.c: of a
 * request of any size and any bytes nothing is read that has not arrived, and one that is accepted
 * has the exact size of its struct and its tail. With these sizes a NUL still fits behind it.
 */
#include "proofs.h"

#include <stdlib.h>

#include "requests.c"
#include "session_requests.c"

static void prove_spawn(const uint8_t *request, size_t count)
{
    const struct ipc_spawn *spawn = (const void *)request;
    PROVE(spawn->environment_bytes <= LIMIT_ENVIRONMENT_BYTES,
          "variables are not above their limit");
    PROVE(spawn->command_bytes <= LIMIT_COMMAND_BYTES, "a command is not above its limit");
    PROVE(count == sizeof(*spawn) + spawn->environment_bytes + spawn->command_bytes,
          "a SPAWN request has the size of its struct and both parts of its tail");
}

int main(void)
{
    size_t count = nondet_size();
    ASSUME(count <= 2 * sizeof(union session_request));
    const uint8_t *request = malloc(count);
    const struct request_row *row = NULL;
    if (find_row(&row, table, nondet_unsigned(), request, count) != NULL) {
        PROVE(row == NULL, "a refused request has no row");
        return 0;
    }
    uint32_t type = *(const uint32_t *)(const void *)request;
    PROVE(type == IPC_PTY || type == IPC_SPAWN || type == IPC_SIGNAL || type == IPC_RELEASE,
          "the request is one for the session process");
    PROVE(row == &table[type] && row->handle != NULL, "the row is that of the type");
    PROVE(count >= row->bytes, "the struct has arrived");
    PROVE(count < sizeof(union session_request), "a NUL fits behind the request");
    if (type == IPC_SPAWN) {
        prove_spawn(request, count);
    } else {
        PROVE(count == row->bytes, "a request without a tail has the size of its struct");
    }
    return 0;
}
