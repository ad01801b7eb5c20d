/* What tests share that start a process and talk to it over a socket and a log. */
#ifndef WREN_UNIT_PROCESS_RIG_H
#define WREN_UNIT_PROCESS_RIG_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipc.h"
#include "unit.h"

/* Moves a descriptor above all that have a fixed number. */
static inline int process_move_high(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 30);
    close(fd);
    return high;
}

/* Sends a request and receives its reply. Returns what recv(2) does: 0 or -1 if the process has
 * closed the socket. */
static inline ssize_t process_ask(int socket, const void *request, size_t request_bytes,
                                  void *reply, size_t reply_bytes)
{
    struct pollfd waiting = {.fd = socket, .events = POLLIN};
    ssize_t sent = send(socket, request, request_bytes, MSG_NOSIGNAL);
    ck_assert(sent == (ssize_t)request_bytes || errno == EPIPE);
    ck_assert_int_eq(poll(&waiting, 1, 10000), 1);
    return recv(socket, reply, reply_bytes, MSG_DONTWAIT | MSG_TRUNC);
}

/* Sends requests and reads no replies, until the process closes the socket. */
static inline void process_send_until_closed(int socket, const void *request, size_t bytes)
{
    for (int i = 0; i < 100000; i++) {
        if (send(socket, request, bytes, MSG_NOSIGNAL) != (ssize_t)bytes) {
            break;
        }
    }
}

/* Waits until the other end of a socket is closed. Returns false if it stays open. */
static inline bool process_hangs_up(int socket)
{
    struct pollfd waiting = {.fd = socket, .events = POLLRDHUP};
    return poll(&waiting, 1, 10000) == 1;
}

/* Reads a log until all processes that write it have exited. */
static inline void process_read_log(int reader, char *log, size_t log_bytes)
{
    size_t used = 0;
    ssize_t count;
    while ((count = read(reader, log + used, log_bytes - 1 - used)) > 0) {
        used += (size_t)count;
    }
    log[used] = '\0';
}

/* A request for a command on channel 5. Returns its length. */
struct process_command {
    struct ipc_spawn spawn;
    char command[64];
};

static inline size_t process_command(struct process_command *request, const char *command)
{
    memset(request, 0, sizeof(*request));
    request->spawn.type = IPC_SPAWN;
    request->spawn.channel = 5;
    request->spawn.kind = IPC_SESSION_EXEC;
    request->spawn.command_bytes = (uint32_t)strlen(command);
    memcpy(request->command, command, strlen(command));
    return sizeof(request->spawn) + strlen(command);
}

#endif
