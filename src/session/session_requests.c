#include "session_requests.h"

#include <string.h>

#define SESSION_PHASE 1

static const char *on_pty(void *process, const void *request, struct reply *reply)
{
    struct ipc_pty pty;
    memcpy(&pty, request, sizeof(pty));
    reply_done(reply, IPC_PTY);
    return sessions_terminal(process, &pty, &reply->body.done.done, &reply->passed);
}

static size_t spawn_tail(const void *request)
{
    struct ipc_spawn spawn;
    memcpy(&spawn, request, sizeof(spawn));
    if (spawn.environment_bytes > LIMIT_ENVIRONMENT_BYTES ||
        spawn.command_bytes > LIMIT_COMMAND_BYTES) {
        return REQUEST_TAIL_TOO_LONG;
    }
    return (size_t)spawn.environment_bytes + spawn.command_bytes;
}

static const char *on_spawn(void *process, const void *request, struct reply *reply)
{
    struct ipc_spawn spawn;
    memcpy(&spawn, request, sizeof(spawn));
    reply_done(reply, IPC_SPAWN);
    return sessions_program(process, &spawn, (const char *)request + sizeof(spawn),
                            &reply->body.done.done, &reply->passed);
}

static const char *on_signal(void *process, const void *request, struct reply *reply)
{
    struct ipc_signal signal;
    memcpy(&signal, request, sizeof(signal));
    reply_done(reply, IPC_SIGNAL);
    return sessions_signal(process, &signal, &reply->body.done.done);
}

static const char *on_release(void *process, const void *request, struct reply *reply)
{
    struct ipc_release release;
    memcpy(&release, request, sizeof(release));
    reply_done(reply, IPC_RELEASE);
    return sessions_release(process, &release, &reply->body.done.done);
}

static const struct request_row table[IPC_TYPES] = {
    [IPC_PTY] = {sizeof(struct ipc_pty), NULL, SESSION_PHASE, on_pty},
    [IPC_SPAWN] = {sizeof(struct ipc_spawn), spawn_tail, SESSION_PHASE, on_spawn},
    [IPC_SIGNAL] = {sizeof(struct ipc_signal), NULL, SESSION_PHASE, on_signal},
    [IPC_RELEASE] = {sizeof(struct ipc_release), NULL, SESSION_PHASE, on_release},
};

enum request_outcome session_requests_serve(struct sessions *sessions,
                                            union session_request *request, const char **wrong)
{
    return request_serve(SESSION_DESCRIPTOR, table, SESSION_PHASE, sessions, request,
                         sizeof(*request), wrong);
}
