/*
 * The listener's children, its descriptors, and the connections that it accepts.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clients.h"
#include "listener_target.h"
#include "simulation.h"

/* ---- children -------------------------------------------------------------------------------- */

static struct listener_client *client_of_pipe(int pipe)
{
    for (unsigned i = 0; i < MODEL_CLIENTS; i++) {
        struct listener_client *client = &listener_model.clients[i];
        if (client->pid != 0 && client->listed && client->pipe == pipe) {
            return client;
        }
    }
    return NULL;
}

SIMULATED(int, pipe2, int ends[2], int flags)
{
    if (!simulating) {
        return __real_pipe2(ends, flags);
    }
    SIMULATION_CHECK(flags == (O_CLOEXEC | O_NONBLOCK));
    if (state.pipe_error > 0 || state.next_pipe + 1 >= LISTENER_PIPES) {
        state.pipe_error = 0;
        errno = EMFILE;
        return -1;
    }
    memset(&pipes[++state.next_pipe], 0, sizeof(pipes[0]));
    ends[0] = simulation_open(5, FD_PIPE, state.next_pipe);
    ends[1] = simulation_open(5, FD_PIPE_CHILD, state.next_pipe);
    return 0;
}

SIMULATED(pid_t, fork, void)
{
    if (!simulating) {
        return __real_fork();
    }
    SIMULATION_CHECK(state.decided && (state.admitted || listener_model.uncertain));
    state.decided = false;
    if (state.fork_error > 0) {
        state.fork_error = 0;
        simulation_goal("fork-fails");
        errno = EAGAIN;
        return -1;
    }
    bool piped = simulation_count_fds(FD_PIPE_CHILD) > 0;
    state.newest = listener_add(&state.source, ++state.next_pid, piped ? state.next_pipe : -1);
    errno = EAGAIN;
    return state.newest != NULL ? state.next_pid : -1;
}

SIMULATED(pid_t, waitpid, pid_t pid, int *status, int options)
{
    if (!simulating) {
        return __real_waitpid(pid, status, options);
    }
    for (unsigned i = 0; i < MODEL_CLIENTS; i++) {
        struct listener_client *client = &listener_model.clients[i];
        if (client->pid != 0 && client->ended) {
            pid = client->pid;
            client->reaped = pid;
            client->ended = false;
            client->pid = client->listed ? -1 : 0; /* clients_remove() follows */
            return pid;
        }
    }
    return 0;
}

SIMULATED(bool, clients_read_status, struct clients *clients, struct client *client)
{
    state.reading = true;
    state.over_read = false;
    int pipe = client->status_pipe >= 0 ? simulation_fd(client->status_pipe)->object : -1;
    struct listener_client *expected = pipe >= 0 ? client_of_pipe(pipe) : NULL;
    SIMULATION_CHECK(pipe < 0 || expected != NULL);
    bool over = __real_clients_read_status(clients, client);
    state.reading = false;
    if (pipe >= 0) {
        SIMULATION_CHECK(over == (state.over_read && expected->here && !expected->logged_in));
    }
    return over;
}

SIMULATED(void, clients_remove, struct clients *clients, struct client *client)
{
    for (unsigned i = 0; i < MODEL_CLIENTS; i++) {
        struct listener_client *expected = &listener_model.clients[i];
        bool is_it =
            expected->listed && (expected->pid == client->child ||
                                 (expected->pid == -1 && expected->reaped == client->child));
        if (is_it) {
            bool may = expected->pid == -1 || (expected->here && !expected->logged_in);
            SIMULATION_CHECK(may);
            listener_removes(expected, simulation_ms);
            __real_clients_remove(clients, client);
            SIMULATION_CHECK(clients->count == listener_model.count);
            return;
        }
    }
    simulation_fail("a client that is there is removed", __FILE__, __LINE__);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static ssize_t read_pipe(int number, char *out, size_t room)
{
    size_t left = pipes[number].bytes - pipes[number].read;
    struct listener_client *client = client_of_pipe(number);
    SIMULATION_CHECK(state.reading && client != NULL);
    if (left == 0 && !pipes[number].closed) {
        errno = EAGAIN;
        return -1;
    }
    size_t count = left < room ? left : room;
    memcpy(out, pipes[number].data + pipes[number].read, count);
    pipes[number].read += count;
    state.over_read = listener_reads(client, out, count) || state.over_read;
    return (ssize_t)count;
}

SIMULATED(ssize_t, read, int fd, void *out, size_t bytes)
{
    if (!simulating) {
        return __real_read(fd, out, bytes);
    }
    const struct simulated_fd *opened = simulation_fd(fd);
    if (opened == NULL || opened->kind == FD_RANDOM) {
        memcpy(out, &state.random, sizeof(state.random));
        errno = EBADF;
        return opened != NULL ? (ssize_t)sizeof(state.random) : -1;
    }
    if (opened->kind == FD_PIPE) {
        return read_pipe(opened->object, out, bytes);
    }
    SIMULATION_CHECK(opened->kind == FD_SIGNALS);
    if (state.signal == 0 && !state.child_signal) {
        errno = EAGAIN;
        return -1;
    }
    struct signalfd_siginfo info = {.ssi_signo =
                                        state.child_signal ? SIGCHLD : (uint32_t)state.signal};
    state.signal = state.child_signal ? state.signal : 0;
    state.child_signal = false;
    memcpy(out, &info, sizeof(info));
    return sizeof(info);
}

SIMULATED(int, open, const char *path, int flags, ...)
{
    if (!simulating) {
        return __real_open(path, flags, 0600);
    }
    SIMULATION_CHECK(strcmp(path, "/dev/urandom") == 0);
    errno = ENOENT;
    return state.no_random ? -1 : simulation_open(5, FD_RANDOM, 0);
}

int __wrap_open64(const char *path, int flags, ...) __attribute__((alias("__wrap_open")));

SIMULATED(long, syscall, long number, void *out, size_t bytes, unsigned flags)
{
    if (!simulating) {
        return __real_syscall(number, out, bytes, flags);
    }
    SIMULATION_CHECK(number == SYS_getrandom && bytes == sizeof(state.random) && flags == 1);
    memcpy(out, &state.random, bytes);
    errno = EAGAIN;
    return state.no_getrandom ? -1 : (long)bytes;
}

/* A refused connection is closed without a child; one that is let in only after the fork. */
SIMULATED(int, accept, int fd, struct sockaddr *from, socklen_t *bytes)
{
    if (!simulating) {
        return __real_accept(fd, from, bytes);
    }
    SIMULATION_CHECK(simulation_fd(fd)->kind == FD_SOCKET &&
                     listener_model.count < listener_model.limit);
    SIMULATION_CHECK(!state.decided || !state.admitted || listener_model.uncertain);
    if (state.accept_error != 0) {
        errno = (int)state.accept_error;
        state.accept_error = 0;
        return -1;
    }
    state.waiting = false;
    memcpy(from, &state.from, sizeof(state.from));
    *bytes = state.from.sin6_family == AF_INET ? 16 : sizeof(state.from);
    state.random = state.random * 1664525 + 1013904223;
    unsigned percent = state.no_getrandom && state.no_random ? 0 : state.random % 100;
    state.source = listener_source_of(&state.from);
    state.admitted = listener_admits(&state.source, percent, simulation_ms);
    state.decided = true;
    return simulation_open(5, FD_CONNECTION, 0);
}
