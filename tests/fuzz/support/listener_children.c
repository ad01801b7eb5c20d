/*
 * The listener's children, its signals, and the connections that it accepts.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "listen.h"
#include "listener_target.h"
#include "simulation.h"

/* ---- children -------------------------------------------------------------------------------- */

SIMULATED(pid_t, fork, void)
{
    if (!simulating) {
        return __real_fork();
    }
    SIMULATION_CHECK(state.decided && state.admitted);
    SIMULATION_CHECK(simulation_count_fds(FD_CONNECTION) == 1);
    state.decided = false;
    errno = EAGAIN;
    if (state.fork_error > 0) {
        state.fork_error = 0;
        simulation_goal("fork-fails");
        return -1;
    }
    return listener_add(&state.source, ++state.next_pid) != NULL ? state.next_pid : -1;
}

SIMULATED(pid_t, waitpid, pid_t pid, int *status, int options)
{
    if (!simulating) {
        return __real_waitpid(pid, status, options);
    }
    for (unsigned i = 0; i < MODEL_CLIENTS; i++) {
        const struct listener_client *client = &listener_model.clients[i];
        if (client->ended && (pid == -1 || client->pid == pid)) {
            return client->pid;
        }
    }
    state.others_ended = state.others_ended && pid != -1;
    return 0;
}

SIMULATED(void, clients_remove, struct clients *clients, pid_t child)
{
    for (unsigned i = 0; i < MODEL_CLIENTS; i++) {
        struct listener_client *client = &listener_model.clients[i];
        if (client->ended && client->pid == child) {
            memset(client, 0, sizeof(*client));
            __real_clients_remove(clients, child + 1000000); /* an orphan */
            __real_clients_remove(clients, child);
            SIMULATION_CHECK(clients->count == --listener_model.count);
            return;
        }
    }
    simulation_fail("a child that has ended is removed", __FILE__, __LINE__);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

SIMULATED(ssize_t, read, int fd, void *out, size_t bytes)
{
    if (!simulating) {
        return __real_read(fd, out, bytes);
    }
    const struct simulated_fd *opened = simulation_fd(fd);
    SIMULATION_CHECK(opened != NULL && opened->kind == FD_SIGNALS);
    if (state.signal == 0 && !state.child_signal) {
        errno = EAGAIN;
        return -1;
    }
    struct signalfd_siginfo info = {.ssi_signo =
                                        state.child_signal ? SIGCHLD : (uint32_t)state.signal,
                                    .ssi_pid = (uint32_t)state.child};
    state.others_ended = state.others_ended || state.child_signal;
    state.signal = state.child_signal ? state.signal : 0;
    state.child_signal = false;
    memcpy(out, &info, sizeof(info));
    return sizeof(info);
}

/* A refused connection is closed without a child; one that is let in only after the fork. */
SIMULATED(int, accept, int fd, struct sockaddr *from, socklen_t *bytes)
{
    if (!simulating) {
        return __real_accept(fd, from, bytes);
    }
    SIMULATION_CHECK(simulation_fd(fd)->kind == FD_SOCKET);
    SIMULATION_CHECK(!state.decided || !state.admitted);
    if (state.accept_error != 0) {
        errno = (int)state.accept_error;
        state.accept_error = 0;
        return -1;
    }
    if (!state.waiting) { /* another socket had it, or it has left */
        errno = EAGAIN;
        return -1;
    }
    state.waiting = false;
    memcpy(from, &state.from, sizeof(state.from));
    *bytes = state.from.sin6_family == AF_INET   ? 16
             : state.from.sin6_family == AF_UNIX ? 2
                                                 : sizeof(state.from);
    state.source = listener_source_of(&state.from);
    state.admitted = listener_admits(&state.source, state.others_ended);
    state.decided = true;
    return simulation_open(5, FD_CONNECTION, 0);
}
