/*
 * What the loop waits for on behalf of the channels, and the turn that it gives them. poll() is
 * asked only about what the turn can act on: else it would return at once, over and over.
 */
#ifndef WREN_CHANNEL_POLL_H
#define WREN_CHANNEL_POLL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection;

/* At most this many poll entries a channel. */
#define CHANNEL_POLL_ENTRIES 4

/* An entry that is skipped unless the loop waits for `fd`. */
static inline struct pollfd channel_poll_entry(bool waits, int fd, short events)
{
    return (struct pollfd){.fd = waits ? fd : -1, .events = events};
}

/* What the loop waits for on behalf of all channels. */
struct channel_plan {
    size_t entries;       /* how many the channels have */
    uint64_t deadline_ms; /* the turn is due then, even without an event; or UINT64_MAX */
    bool awaits_room;     /* output waits for room in the socket rather than for its descriptor */
    bool pauses;          /* the socket is left unread until deadline_ms at most */
    bool coalesces;       /* the turn reads more output after LIMIT_COALESCE_US */
};

/* Adds an entry for each descriptor of each live channel to `entries`. Where there is nothing to
 * wait for, the entry's descriptor is -1. */
struct channel_plan channel_poll_plan(const struct connection *connection, struct pollfd *entries);

/* Notes what poll() found, from the entries that channel_poll_plan() added. */
void channel_poll_note(struct connection *connection, const struct pollfd *entries,
                       bool socket_has_room);

/* Writes what channel_stdin_data() has collected, before the input buffer moves. Then one turn for
 * each channel: queued data to programs; and, if a message may leave, output, exit status, EOF,
 * CLOSE and window to the client. */
void channel_poll_turn(struct connection *connection);

#endif
