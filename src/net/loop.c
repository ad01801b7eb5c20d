#include "net.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "ask.h"

enum { SOCKET_IN, SOCKET_OUT, MONITOR, SESSION, FIRST_CHANNEL };

#define POLL_ENTRIES (FIRST_CHANNEL + LIMIT_CHANNELS * CHANNEL_POLL_ENTRIES)

/* The longest wait: milliseconds until a deadline may not fit into an int. */
#define LONGEST_WAIT_MS 3600000

/* ---- the socket ------------------------------------------------------------------------------ */

static void set_tcp(int fd, int option, int value)
{
    setsockopt(fd, IPPROTO_TCP, option, &value, sizeof(value));
}

static void read_socket(struct connection *connection)
{
    channel_stdin_finish_batch(connection); /* data that programs have not taken is in the way */
    uint8_t *input = connection->buffers.input;
    size_t left = connection->input_end - connection->input_start;
    if (connection->input_start > 0) {
        memmove(input, input + connection->input_start, left);
        connection->input_start = 0;
        connection->input_end = left;
    }
    /* Makes room for the packet that is arriving. */
    size_t awaited = packet_awaited_bytes(&connection->in);
    size_t most = awaited > LIMIT_READ_BYTES ? awaited : LIMIT_READ_BYTES;
    if (left >= most) {
        return; /* complete packets that wait for room in the output */
    }
    ssize_t count = read(STDIN_FILENO, input + left, most - left);
    connection->times.read_ms = connection->now_ms;
    connection->socket.input_empty = left + (size_t)(count > 0 ? count : 0) < most;
    if (count > 0) {
        connection->input_end += (size_t)count;
        if (connection->input_end > connection->pages.input_touched) {
            connection->pages.input_touched = connection->input_end;
        }
        connection->socket.bytes_in += (uint64_t)count;
    } else if (count == 0) {
        connection_leave(connection, "client closed the connection");
    } else if (errno != EAGAIN && errno != EINTR) {
        connection_leave(connection, errno == ECONNRESET  ? "client reset the connection"
                                     : errno == ETIMEDOUT ? "client stopped answering"
                                                          : "connection lost");
    }
}

static void write_socket(struct connection *connection)
{
    size_t count = connection->output_end - connection->output_start;
    if (count == 0) {
        return;
    }
    ssize_t written =
        write(STDOUT_FILENO, connection->buffers.output + connection->output_start, count);
    if (written >= 0) {
        connection->socket.bytes_out += (uint64_t)written;
        connection->output_start += (size_t)written;
    } else if (errno != EAGAIN && errno != EINTR) {
        connection_leave(connection, "client closed the connection while data was on its way");
        connection->output_start = connection->output_end;
    }
    connection->socket.output_held = connection->output_start < connection->output_end;
    if (!connection->socket.output_held) {
        connection->output_start = connection->output_end = 0;
    }
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* How long poll() may wait: until there is something to do even without an event. */
static struct timespec poll_timeout(const struct connection *connection,
                                    const struct channel_plan *plan)
{
    uint64_t now_ms = connection->now_ms;
    uint64_t next_ms = earlier(deadlines_next_ms(connection), plan->deadline_ms);
    if (idle_trim_due(connection)) {
        next_ms = earlier(next_ms, connection->pages.woken_ms + LIMIT_REST_MS);
    }
    /* Complete packets may have arrived already: no event would announce them. */
    bool packets_wait =
        connection->socket.input_waits && output_room(connection) >= LIMIT_REPLY_BYTES;
    if (packets_wait || next_ms <= now_ms) {
        return (struct timespec){0};
    }
    if (plan->coalesces) {
        return (struct timespec){.tv_nsec = LIMIT_COALESCE_US * 1000};
    }
    int ms = (int)earlier(next_ms - now_ms, LONGEST_WAIT_MS);
    return (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
}

/* poll() without the entries whose descriptor is -1: it refuses more entries than RLIMIT_NOFILE,
 * which a launcher may have set low. */
static int poll_wanted(struct pollfd *entries, size_t count, struct timespec timeout)
{
    struct pollfd wanted[POLL_ENTRIES];
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        entries[i].revents = 0;
        if (entries[i].fd >= 0) {
            wanted[used++] = entries[i];
        }
    }
    int ready = ppoll(wanted, used, &timeout, NULL);
    used = 0;
    for (size_t i = 0; i < count && ready >= 0; i++) {
        if (entries[i].fd >= 0) {
            entries[i].revents = wanted[used++].revents;
        }
    }
    return ready;
}

static void wait_for_events(struct connection *connection)
{
    struct pollfd entries[POLL_ENTRIES];
    struct channel_plan plan = channel_poll_plan(connection, entries + FIRST_CHANNEL);
    bool writes = plan.awaits_room || connection->output_start < connection->output_end;
    bool reads = output_room(connection) >= LIMIT_REPLY_BYTES && !plan.pauses;
    entries[SOCKET_IN] = channel_poll_entry(reads, STDIN_FILENO, POLLIN);
    entries[SOCKET_OUT] = channel_poll_entry(writes, STDOUT_FILENO, POLLOUT);
    entries[MONITOR] = channel_poll_entry(true, connection->ipc, POLLRDHUP);
    entries[SESSION] = channel_poll_entry(true, connection->session_ipc, 0);
    struct timespec timeout = poll_timeout(connection, &plan);
    int ready = poll_wanted(entries, FIRST_CHANNEL + plan.entries, timeout);
    connection->now_ms = (uint64_t)clock_now_ms();
    if (ready < 0) {
        if (errno != EINTR) {
            connection_fail(connection, "poll failed");
        }
        return;
    }
    if (ready > 0 || plan.coalesces) {
        connection->pages.woken_ms = connection->now_ms;
        if (plan.awaits_room || !connection->socket.input_empty) {
            idle_trim_before_bulk(connection);
        }
    } else if (connection->now_ms - connection->pages.woken_ms >= LIMIT_REST_MS) {
        idle_trim(connection);
    }
    channel_poll_note(connection, entries + FIRST_CHANNEL, entries[SOCKET_OUT].revents != 0);
    if ((entries[MONITOR].revents & (POLLHUP | POLLERR)) != 0) {
        connection_fail(connection, "the monitor is gone");
    } else if (entries[MONITOR].revents != 0) {
        connection_refuse(connection, SSH_DISCONNECT_BY_APPLICATION, "server is shutting down");
    } else if (entries[SESSION].revents != 0) {
        connection_fail(connection, "the session process is gone");
    } else if (entries[SOCKET_IN].revents != 0) {
        read_socket(connection);
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void send_greeting(struct connection *connection)
{
    if (connection->socket.tcp) {
        set_tcp(STDOUT_FILENO, TCP_NODELAY, 1);
        /* Data in the kernel's buffer can't be overtaken: without a limit a keystroke's echo would
         * wait for all that the kernel keeps for a far client. */
        set_tcp(STDOUT_FILENO, TCP_NOTSENT_LOWAT, LIMIT_UNSENT_BYTES);
    }
    version_send(connection);
    kexinit_send(connection);
    write_socket(connection);
    kex_prepare(connection);
}

static bool wait_until(int fd, short events, uint64_t end_ms)
{
    uint64_t now_ms = (uint64_t)clock_now_ms();
    struct pollfd entry = {.fd = fd, .events = events};
    return now_ms < end_ms && poll(&entry, 1, (int)(end_ms - now_ms)) > 0;
}

/* Lets the last message, usually DISCONNECT, reach the client: a socket that is closed with unread
 * input resets the connection, and the client might lose the message. Bounded in time and in the
 * input that it discards. */
static void finish_output(struct connection *connection)
{
    uint64_t end_ms = (uint64_t)clock_now_ms() + LIMIT_GOODBYE_MS;
    write_socket(connection);
    while (connection->output_end > 0) {
        if (!wait_until(STDOUT_FILENO, POLLOUT, end_ms)) {
            return;
        }
        write_socket(connection);
    }
    if (shutdown(STDOUT_FILENO, SHUT_WR) != 0) {
        return;
    }
    for (int i = 0; i < 64 && wait_until(STDIN_FILENO, POLLIN, end_ms); i++) {
        if (read(STDIN_FILENO, connection->buffers.input, LIMIT_READ_BYTES) <= 0) {
            return;
        }
    }
}

void loop_run(struct connection *connection, uint32_t layers)
{
    connection->times.start_ms = (uint64_t)clock_now_ms();
    connection->now_ms = connection->kex.since_ms = connection->times.start_ms;
    connection_mark_used(connection);
    if (!ask_start(connection, layers)) {
        return;
    }
    send_greeting(connection);
    while (!connection->end.reached) {
        uint64_t bytes_in = connection->socket.bytes_in;
        uint64_t bytes_out = connection->socket.bytes_out;
        wait_for_events(connection);
        dispatch_input(connection);
        channel_poll_turn(connection);
        if (!connection->end.reached) {
            kex_rekey_if_due(connection);
            deadlines_check(connection);
        }
        write_socket(connection);
        /* Before login OpenSSH's client uses Nagle's algorithm: it waits for our acknowledgement
         * before it sends a second small packet, and our kernel would delay that by 40 ms. The
         * kernel resets the option, so it is set after each turn that read and wrote nothing; an
         * answer carries the acknowledgement, and a separate one would cost one more segment. */
        if (connection->socket.quickack && connection->socket.bytes_in != bytes_in &&
            connection->socket.bytes_out == bytes_out) {
            set_tcp(STDIN_FILENO, TCP_QUICKACK, 1);
        }
    }
    if (connection->end.disconnected) {
        finish_output(connection);
    }
    ask_end(connection);
}
