/*
 * wrensshd-listen's whole life, listen_main(), with every system call simulated. A model
 * (support/listener_model.h) says who is let in and how many there are.
 *
 * Input: settings, then operations: a byte each, and what the operation needs.
 */
#include "listen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base.h"
#include "fuzz.h"
#include "listener_model.h"
#include "listener_target.h"
#include "simulation.h"

struct input input;
struct listener_state state;
static struct listener *running;

/* ---- events ---------------------------------------------------------------------------------- */

static void connect_from(uint8_t family, uint32_t number)
{
    memset(&state.from, 0, sizeof(state.from));
    state.waiting = true;
    if ((family & 3) == 3) {
        state.from.sin6_family = AF_UNIX;
        return;
    }
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

/* The n-th client. */
static struct listener_client *pick(uint8_t which)
{
    unsigned skip = listener_model.count > 0 ? which % listener_model.count : 0;
    for (unsigned i = 0; i < MODEL_CLIENTS; i++) {
        if (listener_model.clients[i].pid != 0 && skip-- == 0) {
            return &listener_model.clients[i];
        }
    }
    return NULL;
}

static void end_child(struct listener_client *client)
{
    if (client != NULL) {
        client->ended = true;
        state.child = state.child_signal ? state.child : client->pid;
        state.child_signal = true;
    }
}

static void pass(int milliseconds, int *timeout)
{
    simulation_ms += *timeout >= 0 && milliseconds > *timeout ? *timeout : milliseconds;
    *timeout = *timeout < 0 ? -1 : *timeout > milliseconds ? *timeout - milliseconds : 0;
}

static void next_event(int *timeout)
{
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
    case 4:
        end_child(pick(input_u8(&input)));
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
    default:
        break;
    }
}

static void check_counts(void)
{
    SIMULATION_CHECK(running->clients.count == listener_model.count);
    SIMULATION_CHECK(listener_model.count <= listener_model.limit);
    SIMULATION_CHECK(simulation_count_fds(FD_CONNECTION) == 0);
}

static int ready(struct pollfd *watched, nfds_t count)
{
    int found = 0;
    for (nfds_t i = 0; i < count; i++) {
        const struct simulated_fd *opened = simulation_fd(watched[i].fd);
        SIMULATION_CHECK(opened == NULL || opened->kind != FD_SOCKET || state.passed == 0 ||
                         (opened->cloexec && opened->nonblocking));
        watched[i].revents = 0;
        if (opened == NULL) {
            simulation_fail("only open descriptors are watched", __FILE__, __LINE__);
        }
        bool is = opened->kind == FD_SIGNALS ? state.signal != 0 || state.child_signal
                                             : state.waiting || state.accept_error != 0;
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
    SIMULATION_CHECK(!state.decided || !state.admitted);
    state.decided = false;
    if (count > 1) {
        check_counts(); /* the socket is watched even if all places are taken */
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
    }
}

SIMULATED(int, __poll_chk, struct pollfd *watched, nfds_t count, int timeout, size_t room)
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

/* Sockets from descriptor 3 on, some of which are wrong. Returns how many are taken, 0 for an
 * error. */
static unsigned pass_sockets(void)
{
    static const int types[] = {SOCK_STREAM, SOCK_STREAM, SOCK_DGRAM, -SOCK_STREAM};
    uint8_t how = input_u8(&input);
    unsigned count = how & 3;
    unsigned good = 0;
    for (unsigned i = 0; i < count; i++) {
        int type = (how & 0x80) ? types[input_u8(&input) % 4] : SOCK_STREAM;
        simulation_place(3 + (int)i, FD_SOCKET, type);
        good += good == i && type == SOCK_STREAM;
    }
    state.foreign = (how & 0x40) != 0;
    state.passed = (how & 0x20) ? input_u8(&input) : count;
    bool taken = !state.foreign && state.passed > 0 && state.passed <= good;
    simulation_goal(taken ? "passes-sockets" : "passes-wrong-sockets");
    return taken ? state.passed : 0;
}

static void start(void)
{
    static char name[] = "wrensshd-listen", port[] = "22", systemd[] = "systemd",
                program[] = "/program", keep[] = "-k1";
    static char most[16], one[16];
    char *argv[12] = {name, most};
    size_t count = 2;
    uint8_t flags = input_u8(&input);
    struct listener_model *model = &listener_model;
    model->limit = (flags & 1) ? 1U + input_u8(&input) % 8 : 60;
    model->per_source = model->limit - model->limit / 4;
    snprintf(most, sizeof(most), "-c%u", model->limit);
    if (flags & 2) {
        model->per_source = 1U + input_u8(&input) % 4;
        snprintf(one, sizeof(one), "-s%u", model->per_source);
        argv[count++] = one;
    }
    if (flags & 64) {
        argv[count++] = keep;
    }
    state.hangup_ignored = (flags & 128) != 0;
    unsigned taken = (flags & 16) ? pass_sockets() : 1;
    unsigned left = (flags & 16) ? simulation_count_fds(FD_SOCKET) - taken : 0;
    argv[count++] = (flags & 16) ? systemd : port;
    argv[count++] = program;
    SIMULATION_CHECK(listen_main(argv) == (taken > 0 ? 0 : 100));
    SIMULATION_CHECK(taken == 0 || simulation_count_fds(FD_SOCKET) == left);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input = (struct input){data, size};
    memset(&state, 0, sizeof(state));
    memset(&listener_model, 0, sizeof(listener_model));
    state.next_pid = FIRST_PID;
    simulation_begin();
    start();
    simulation_end();
    return 0;
}
