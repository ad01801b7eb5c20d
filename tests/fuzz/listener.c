/*
 * wrensshd-listen's whole life, listen_main(), with every system call simulated. A model
 * (support/listener_model.h) says who is let in, who has a penalty, and how many there are.
 *
 * Input: settings, then operations: a byte each, and what the operation needs.
 */
#include "listen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "fuzz.h"
#include "listener_model.h"
#include "listener_target.h"
#include "peer.h"
#include "simulation.h"
#include "tools.h"

struct input input;
struct listener_state state;
struct listener_pipe pipes[LISTENER_PIPES];
static struct listener *running;

/* ---- events ---------------------------------------------------------------------------------- */

static void connect_from(uint8_t family, uint32_t number)
{
    memset(&state.from, 0, sizeof(state.from));
    state.waiting = true;
    if ((family & 3) == 0) {
        state.from.sin6_family = AF_INET;
        memcpy((uint8_t *)&state.from + 4, &number, 4);
        return;
    }
    state.from.sin6_family = AF_INET6;
    if ((family & 3) == 1) { /* mapped */
        memset(state.from.sin6_addr.s6_addr + 10, 0xff, 2);
        memcpy(state.from.sin6_addr.s6_addr + 12, &number, 4);
    } else { /* the same network, another host */
        memcpy(state.from.sin6_addr.s6_addr + 3, &number, 4);
        state.from.sin6_addr.s6_addr[8] = state.from.sin6_addr.s6_addr[15] = family;
        state.from.sin6_addr.s6_addr[7] = (family & 4) ? 1 : 0;
    }
}

/* The n-th client that is listed. */
static struct listener_client *pick(uint8_t which)
{
    unsigned skip = listener_model.count > 0 ? which % listener_model.count : 0;
    for (unsigned i = 0; i < MODEL_CLIENTS; i++) {
        if (listener_model.clients[i].listed && skip-- == 0) {
            return &listener_model.clients[i];
        }
    }
    return NULL;
}

static void report(struct listener_client *client, const char *bytes, size_t count)
{
    if (client == NULL || client->pipe < 0) {
        return;
    }
    size_t room = MESSAGE - pipes[client->pipe].bytes;
    count = count < room ? count : room;
    memcpy(pipes[client->pipe].data + pipes[client->pipe].bytes, bytes, count);
    pipes[client->pipe].bytes += count;
}

static void end_child(struct listener_client *client)
{
    if (client != NULL && !client->ended) {
        client->ended = true;
        state.child_signal = true;
        if (client->pipe >= 0) {
            pipes[client->pipe].closed = true;
        }
    }
}

/* Strangers of many addresses connect, and leave without a login. So many fill the table of
 * penalties once: more shows nothing, and takes seconds. */
#define FLOOD_MOST 600

static void start_flood(unsigned count)
{
    unsigned left = FLOOD_MOST - state.flooded;
    state.flood = count < left ? count : left;
    state.flooded += state.flood;
}

static void flood(void)
{
    if (state.flood_step == 0) {
        simulation_ms++;
        connect_from(0, 0x10000 + --state.flood);
    } else if (state.flood_step == 1) {
        report(state.newest, "HR", 2);
    } else {
        end_child(state.newest);
    }
    state.flood_step = (state.flood_step + 1) % 3;
}

/* 2, 3: it reports; 4: it ends; 5: it closes its pipe. */
static void childs_event(uint8_t op)
{
    static const char letters[] = "HLRNDx";
    char bytes[MESSAGE];
    struct listener_client *client = pick(input_u8(&input));
    if ((op & 15) == 4) {
        end_child(client);
    } else if ((op & 15) == 5 && client != NULL && client->pipe >= 0) {
        pipes[client->pipe].closed = true;
    } else if ((op & 15) < 4) {
        size_t count = 1U + (op >> 4);
        for (size_t i = 0; i < count; i++) {
            bytes[i] = letters[input_u8(&input) % 6];
        }
        report(client, bytes, count);
    }
}

static void pass(int milliseconds, int *timeout)
{
    simulation_ms += *timeout >= 0 && milliseconds > *timeout ? *timeout : milliseconds;
    *timeout = *timeout < 0 ? -1 : *timeout > milliseconds ? *timeout - milliseconds : 0;
}

static void next_event(int *timeout)
{
    if (state.flood > 0 || state.flood_step > 0) {
        flood();
        return;
    }
    if (input.left == 0) {
        state.signal = SIGTERM;
        state.over = true;
        return;
    }
    uint8_t op = input_u8(&input);
    bool high = (op & 0x80) != 0;
    switch (op & 15) {
    case 0:
    case 1:
        connect_from(op >> 4, input_u8(&input));
        break;
    case 2:
    case 3:
    case 4:
    case 5:
        childs_event(op);
        break;
    case 6:
        pass(1 + input_u8(&input) * (high ? 500 : 20), timeout);
        break;
    case 7:
        state.signal = SIGHUP;
        break;
    case 8:
        state.accept_error = high ? ENFILE : ECONNABORTED;
        break;
    case 9:
        state.fork_error = 1;
        break;
    case 10:
        state.pipe_error = 1;
        break;
    case 11:
        state.no_getrandom = true;
        state.no_random = high;
        break;
    case 12:
        start_flood(1U + input_u8(&input) * (high ? 3U : 1U));
        break;
    default:
        break;
    }
}

static void check_counts(void)
{
    unsigned piped = 0;
    for (unsigned i = 0; i < MODEL_CLIENTS; i++) {
        piped += listener_model.clients[i].listed && listener_model.clients[i].pipe >= 0;
    }
    SIMULATION_CHECK(running->clients.count == listener_model.count);
    SIMULATION_CHECK(listener_model.count <= listener_model.limit);
    SIMULATION_CHECK(simulation_count_fds(FD_PIPE) == piped);
    SIMULATION_CHECK(simulation_count_fds(FD_CONNECTION) + simulation_count_fds(FD_PIPE_CHILD) +
                         simulation_count_fds(FD_RANDOM) ==
                     0);
}

static int ready(struct pollfd *watched, nfds_t count)
{
    int found = 0;
    for (nfds_t i = 0; i < count; i++) {
        const struct simulated_fd *opened = simulation_fd(watched[i].fd);
        watched[i].revents = 0;
        if (opened == NULL) {
            SIMULATION_CHECK(watched[i].fd == -1);
            continue;
        }
        bool is = opened->kind == FD_SIGNALS ? state.signal != 0 || state.child_signal
                  : opened->kind == FD_SOCKET
                      ? state.waiting || state.accept_error != 0
                      : pipes[opened->object].closed ||
                            pipes[opened->object].read < pipes[opened->object].bytes;
        watched[i].revents = is ? POLLIN : 0;
        found += is;
    }
    return found;
}

SIMULATED(int, poll, struct pollfd *watched, nfds_t count, int timeout)
{
    if (!simulating) {
        return __real_poll(watched, count, timeout);
    }
    SIMULATION_CHECK(!state.decided || !state.admitted || listener_model.uncertain);
    state.decided = false;
    if (count > 1) {
        check_counts();
        SIMULATION_CHECK((watched[1].fd < 0) == (listener_model.count == listener_model.limit));
    }
    for (;;) {
        int found = ready(watched, count);
        if (found > 0) {
            return found;
        }
        if (timeout == 0 || (state.over && timeout >= 0)) {
            simulation_ms += timeout;
            return 0;
        }
        next_event(&timeout);
        /* A full listener does not see a connection, and one that floods must not wait for it. */
        if (state.waiting && count > 1 && watched[1].fd < 0) {
            state.waiting = false;
            simulation_goal("full");
        }
    }
}

int __wrap___poll_chk(struct pollfd *watched, nfds_t count, int timeout, size_t room);
int __wrap___poll_chk(struct pollfd *watched, nfds_t count, int timeout, size_t room)
{
    SIMULATION_CHECK(count * sizeof(*watched) <= room);
    return __wrap_poll(watched, count, timeout);
}

/* ---- the start and the end ------------------------------------------------------------------- */

typedef void handler(int number);
SIMULATED(handler *, signal, int number, handler *set)
{
    return !simulating ? __real_signal(number, set) : state.hangup_ignored ? SIG_IGN : SIG_DFL;
}

SIMULATED(int, listen_options, struct listener *listener, char **argv, uint64_t memory, int *status)
{
    running = listener;
    memset(listener, 0, sizeof(*listener)); /* the product starts with zeros */
    return __real_listen_options(listener, argv, memory, status);
}

static void start(void)
{
    static char name[] = "wrensshd-listen", port[] = "22", program[] = "/program", keep[] = "-k1";
    static char most[16], one[16], drop[40], penalties[24];
    char *argv[12] = {name, most, one, penalties};
    size_t count = 4;
    uint8_t flags = input_u8(&input);
    struct listener_model *model = &listener_model;
    model->limit = (flags & 1) ? 1U + input_u8(&input) % 8 : 60;
    model->per_source = (flags & 2) ? 1U + input_u8(&input) % 4 : model->limit;
    model->full = model->limit;
    model->start = model->full - model->full / 5;
    model->percent = 30;
    if (flags & 4) {
        model->full = 1U + input_u8(&input) % 10;
        model->start = 1U + input_u8(&input) % model->full;
        model->percent = input_u8(&input) % 101;
        snprintf(drop, sizeof(drop), "-m%u:%u:%u", model->start, model->percent, model->full);
        argv[count++] = drop;
    }
    model->no_drop = (flags & 12) == 8;
    unsigned threshold = (flags & 16) ? 0 : 1U + input_u8(&input) % 32;
    unsigned most_seconds = threshold + ((flags & 32) ? 0U : 100);
    model->threshold_ms = threshold * 1000;
    model->most_ms = most_seconds * 1000;
    snprintf(most, sizeof(most), "-c%u", model->limit);
    snprintf(one, sizeof(one), "-s%u", model->per_source);
    snprintf(penalties, sizeof(penalties), threshold == 0 ? "-p0" : "-p%u:%u", threshold,
             most_seconds);
    static char off[] = "-m0";
    if (model->no_drop) {
        argv[count++] = off;
    }
    if (flags & 64) {
        argv[count++] = keep;
    }
    state.hangup_ignored = (flags & 128) != 0;
    argv[count++] = port;
    argv[count++] = program;
    SIMULATION_CHECK(listen_main(argv) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input = (struct input){data, size};
    memset(&state, 0, sizeof(state));
    memset(&listener_model, 0, sizeof(listener_model));
    state.next_pid = FIRST_PID;
    state.random = (uint32_t)size;
    simulation_begin();
    start();
    SIMULATION_CHECK(simulation_count_fds(FD_SOCKET) == 0);
    simulation_end();
    return 0;
}
