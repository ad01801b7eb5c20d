/*
 * find_row() of src/ipc/ipc_serve.c with the table of src/session/session_ipc.c: of a
 * request of any size and any bytes nothing is read that has not arrived. Each of the four requests
 * is accepted if it has the exact size of its struct and its tail, and nothing else is. A NUL still
 * fits behind it.
 *
 * Not proved here: what the handlers check of an accepted request (the channel, the kind of a
 * program, the order of the requests), and what ipc_serve() refuses before find_row().
 */
#include "proofs.h"

#include <stdlib.h>

#include "ipc_serve.c"
#include "session_ipc.c"

static bool is_spawn(const struct ipc_spawn *spawn, size_t count)
{
    return count >= sizeof(*spawn) && spawn->environment_bytes <= LIMIT_ENVIRONMENT_BYTES &&
           spawn->command_bytes <= LIMIT_COMMAND_BYTES &&
           count == sizeof(*spawn) + spawn->environment_bytes + spawn->command_bytes;
}

#define REQUEST(type, name, ...) [type] = sizeof(struct ipc_##name),

static bool is_right(uint32_t type, const void *request, size_t count)
{
    static const size_t bytes[IPC_TYPES] = {IPC_SESSION_REQUESTS(REQUEST)};
    return type == IPC_SPAWN ? is_spawn(request, count)
                             : type < IPC_TYPES && bytes[type] > 0 && count == bytes[type];
}

int main(void)
{
    size_t count = nondet_size();
    ASSUME(count <= 2 * sizeof(union session_request));
    const uint8_t *request = malloc(count);
    uint32_t type = count >= 4 ? *(const uint32_t *)(const void *)request : 0;
    const struct request_row *row = NULL;
    bool accepted = find_row(&row, table, SESSION_ALWAYS, request, count) == NULL;
    bool right = is_right(type, request, count);
    PROVE(accepted || !right, "a right request is accepted");
    PROVE(!accepted || right, "a wrong request is refused");
    PROVE(accepted == (row != NULL), "only an accepted request has a row");
    PROVE(!accepted || (row == &table[type] && row->handle != NULL), "the row is that of the type");
    PROVE(!accepted || count < sizeof(union session_request), "a NUL fits behind the request");
    return 0;
}
