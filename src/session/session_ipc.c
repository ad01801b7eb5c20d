#include "session_internal.h"

static size_t spawn_tail(const void *request)
{
    const struct ipc_spawn *spawn = request;
    if (spawn->environment_bytes > LIMIT_ENVIRONMENT_BYTES ||
        spawn->command_bytes > LIMIT_COMMAND_BYTES) {
        return REQUEST_TAIL_TOO_LONG;
    }
    return (size_t)spawn->environment_bytes + spawn->command_bytes;
}

static const struct request_row table[IPC_TYPES] = {
    [IPC_PTY] = {sizeof(struct ipc_pty), NULL, REQUEST_ALWAYS, sessions_terminal,
                 sizeof(struct ipc_done)},
    [IPC_SPAWN] = {sizeof(struct ipc_spawn), spawn_tail, REQUEST_ALWAYS, sessions_program,
                   sizeof(struct ipc_done)},
    [IPC_SIGNAL] = {sizeof(struct ipc_signal), NULL, REQUEST_ALWAYS, sessions_signal,
                    sizeof(struct ipc_done)},
    [IPC_RELEASE] = {sizeof(struct ipc_release), NULL, REQUEST_ALWAYS, sessions_release,
                     sizeof(struct ipc_done)},
};

enum request_outcome session_ipc_serve(struct sessions *sessions, union session_request *request,
                                       const char **wrong)
{
    return ipc_serve(SESSION_DESCRIPTOR, table, REQUEST_ALWAYS, sessions, request, sizeof(*request),
                     wrong);
}
