#include "session_internal.h"

static size_t spawn_tail_bytes(const void *request)
{
    const struct ipc_spawn *spawn = request;
    if (spawn->environment_bytes > LIMIT_ENVIRONMENT_BYTES ||
        spawn->command_bytes > LIMIT_COMMAND_BYTES) {
        return REQUEST_TAIL_TOO_LONG;
    }
    return (size_t)spawn->environment_bytes + spawn->command_bytes;
}

#define ROW(type, name, tail_bytes, phases, reply_bytes)                                           \
    [type] = {sizeof(struct ipc_##name), reply_bytes, phases, tail_bytes, sessions_##name},
static const struct request_row table[IPC_TYPES] = {IPC_SESSION_REQUESTS(ROW)};

enum request_outcome session_ipc_serve(struct sessions *sessions, union session_request *request,
                                       const char **wrong)
{
    return ipc_serve(SESSION_DESCRIPTOR, table, SESSION_ALWAYS, sessions, request, sizeof(*request),
                     wrong);
}
