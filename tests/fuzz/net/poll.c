/* poll() and ppoll(): the only places where the product waits, so the world moves on here. */
#include "world.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

/* Turns in which nothing moved though the product did not wait. */
#define IDLE_TURNS 6

#define MOST_TURNS 100000

static bool can_read(void)
{
    const struct client *client = &world.client;
    return client->arriving_start < client->arriving_end ? world.chunk > 0 : client->closed;
}

static short events_of(const struct pollfd *entry)
{
    switch (entry->fd) {
    case CLIENT_FD:
        return can_read() ? POLLIN : 0;
    case OUTPUT_FD:
        return world.socket_room > 0 || (world.write_error != 0 && world.write_error != EAGAIN)
                   ? POLLOUT
                   : 0;
    case MONITOR_FD:
        return (short)((world.monitor_gone ? POLLHUP : 0) | (world.monitor_ends ? POLLRDHUP : 0));
    case SESSION_FD:
        return world.session_gone ? POLLHUP : 0;
    default:
        return program_events(entry->fd, entry->events);
    }
}

static int find_ready(struct pollfd *entries, nfds_t count)
{
    int ready = 0;
    for (nfds_t i = 0; i < count; i++) {
        entries[i].revents = events_of(&entries[i]);
        ready += entries[i].revents != 0;
    }
    return ready;
}

/* No turn may come without a reason. */
static void check_progress(bool waits)
{
    if (waits || world.steps != world.idle_steps) {
        world.idle_turns = 0;
    } else {
        FUZZ_CHECK(++world.idle_turns < IDLE_TURNS);
    }
    world.idle_steps = world.steps;
    FUZZ_CHECK(++world.turns < MOST_TURNS);
}

static bool take_error(void)
{
    errno = world.poll_error;
    world.poll_error = 0;
    return errno != 0;
}

/* An entry that is said to be ready, and is not. */
static int add_spurious(struct pollfd *entries, nfds_t count, int ready)
{
    if (world.spurious >= 0 && count > 0) {
        struct pollfd *entry = &entries[(nfds_t)world.spurious % count];
        if (entry->revents == 0 && entry->fd != MONITOR_FD && entry->fd != SESSION_FD) {
            entry->revents = entry->events;
            ready += entry->revents != 0;
        }
    }
    return ready;
}

static int wait_for(struct pollfd *entries, nfds_t count, uint64_t wait_ms, bool coalesces)
{
    uint64_t end_ms = world.now_ms + wait_ms;
    world.spurious = -1;
    script_turn();
    for (;;) {
        if (take_error()) {
            world.spurious = 0; /* the channels keep what the ppoll() before found */
            return -1;
        }
        int ready = add_spurious(entries, count, find_ready(entries, count));
        if (ready > 0 || coalesces || world.now_ms >= end_ms) {
            return ready;
        }
        invariants_at_rest();
        check_progress(true);
        if (!script_turn()) {
            ending_turn(end_ms - world.now_ms);
        }
    }
}

static int simulate(struct pollfd *entries, nfds_t count, const struct timespec *timeout)
{
    judge_done();
    invariants_hold();
    for (nfds_t i = 0; i < count; i++) {
        FUZZ_CHECK(entries[i].fd >= 0);
    }
    uint64_t wait_ms = (uint64_t)timeout->tv_sec * 1000 + (uint64_t)timeout->tv_nsec / 1000000;
    bool coalesces = wait_ms == 0 && timeout->tv_nsec > 0;
    if (coalesces) {
        goal_reached(GOAL_COALESCED);
    }
    int ready = wait_for(entries, count, wait_ms, coalesces);
    check_progress(false);
    return ready;
}

SIMULATED(int, ppoll, struct pollfd *entries, nfds_t count, const struct timespec *timeout,
          const sigset_t *mask)
{
    return world.running ? simulate(entries, count, timeout)
                         : __real_ppoll(entries, count, timeout, mask);
}

/* What _FORTIFY_SOURCE makes of it. */
SIMULATED(int, __ppoll_chk, struct pollfd *entries, nfds_t count, const struct timespec *timeout,
          const sigset_t *mask, size_t bytes)
{
    FUZZ_CHECK(count * sizeof(*entries) <= bytes);
    return __wrap_ppoll(entries, count, timeout, mask);
}

/* While a request waits: has the client gone? At the end: until the client has read all. */
static int simulate_short(struct pollfd *entries, nfds_t count, int timeout_ms)
{
    if (world.replies || (count == 2 && timeout_ms == 0)) {
        return world.client.closed ? 1 : 0;
    }
    FUZZ_CHECK(count == 1 && world.connection->end.disconnected);
    judge_done();
    int ready = find_ready(entries, count);
    while (ready == 0 && script_turn()) {
        ready = find_ready(entries, count);
    }
    if (ready == 0) {
        world.now_ms += (uint64_t)timeout_ms;
    }
    return ready;
}

SIMULATED(int, poll, struct pollfd *entries, nfds_t count, int timeout_ms)
{
    return world.running ? simulate_short(entries, count, timeout_ms)
                         : __real_poll(entries, count, timeout_ms);
}

SIMULATED(int, __poll_chk, struct pollfd *entries, nfds_t count, int timeout_ms, size_t bytes)
{
    FUZZ_CHECK(count * sizeof(*entries) <= bytes);
    return __wrap_poll(entries, count, timeout_ms);
}
