#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fail.h"
#include "measure.h"

#define PATIENCE_MS 60000

void link_open(struct link *link, int fd)
{
    memset(link, 0, offsetof(struct link, input));
    link->fd = fd;
    fcntl(fd, F_SETFL, O_NONBLOCK);
}

void link_close(struct link *link)
{
    close(link->fd);
    link->fd = -1;
}

/* ---- in -------------------------------------------------------------------------------------- */

bool link_take_line(struct link *link, const char **line, size_t *bytes)
{
    const uint8_t *start = link->input + link->in_start;
    size_t available = link->in_end - link->in_start;
    const uint8_t *end = memchr(start, '\n', available);
    if (end == NULL) {
        if (available > LIMIT_VERSION_LINE_BYTES) {
            fail("identification", "the server's line is longer than 255 bytes");
        }
        return false;
    }
    *line = (const char *)start;
    *bytes = (size_t)(end - start);
    link->in_start += *bytes + 1;
    if (*bytes > 0 && start[*bytes - 1] == '\r') {
        --*bytes;
    }
    return true;
}

bool link_take(struct link *link, struct reader *payload)
{
    struct packet packet;
    switch (packet_open(&link->in, link->input + link->in_start, link->in_end - link->in_start,
                        &packet)) {
    case PACKET_INCOMPLETE:
        return false;
    case PACKET_CORRUPT:
        fail("packet", "the server's packet %u since the last key exchange is corrupt",
             (unsigned)link->in.packets);
    case PACKET_READY:
        break;
    }
    link->in_start += packet.total_bytes;
    *payload = reader_over(packet.payload, packet.payload_bytes);
    return true;
}

/* What is left of the last read is less than a packet: it makes way for the next one. */
static bool read_some(struct link *link)
{
    size_t left = link->in_end - link->in_start;
    memmove(link->input, link->input + link->in_start, left);
    link->in_start = 0;
    link->in_end = left;
    ssize_t count = recv(link->fd, link->input + left, sizeof(link->input) - left, 0);
    if (count > 0) {
        link->in_end += (size_t)count;
        link->bytes_in += (uint64_t)count;
        return true;
    }
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    link->ended = true;
    return true;
}

/* ---- out ------------------------------------------------------------------------------------- */

bool link_takes_more(const struct link *link)
{
    return link->out_end < LINK_BATCH_BYTES;
}

void link_add(struct link *link, const void *bytes, size_t count)
{
    memcpy(link->output + link->out_end, bytes, count);
    link->out_end += count;
}

void link_say_list(struct link *link, const char *format, va_list arguments)
{
    size_t room = sizeof(link->output) - link->out_end;
    struct fields message = {link->output + link->out_end + PACKET_HEADER_BYTES, 0,
                             room > PACKET_OVERHEAD_BYTES ? room - PACKET_OVERHEAD_BYTES : 0,
                             false};
    fields_put_list(&message, format, arguments);
    if (message.full) {
        fail("packet", "more than %d bytes wait for the server", LINK_OUTPUT_BYTES);
    }
    link->out_end += packet_seal(&link->out, link->output + link->out_end, message.used);
}

void link_say(struct link *link, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    link_say_list(link, format, arguments);
    va_end(arguments);
}

/* True if all has left. A server that is gone shows when reading. */
static bool write_some(struct link *link)
{
    if (link->out_start == link->out_end) {
        return true;
    }
    ssize_t count = send(link->fd, link->output + link->out_start, link->out_end - link->out_start,
                         MSG_NOSIGNAL);
    if (count > 0) {
        link->out_start += (size_t)count;
        link->bytes_out += (uint64_t)count;
    } else if (count < 0 && errno != EAGAIN && errno != EINTR) {
        link->out_start = link->out_end;
    }
    if (link->out_start < link->out_end) {
        return false;
    }
    link->out_start = link->out_end = 0;
    return true;
}

void link_turn(struct link *link, enum link_patience patience, const char *place)
{
    bool written = write_some(link);
    bool read = read_some(link);
    if (read || patience == LINK_NO_WAIT || (written && patience == LINK_WAIT_TO_WRITE)) {
        return;
    }
    struct pollfd entry = {.fd = link->fd, .events = POLLIN};
    if (!written) {
        entry.events |= POLLOUT;
    }
    uint64_t since_ns = measure_now_ns();
    int ready = poll(&entry, 1, PATIENCE_MS);
    link->waited_ns += measure_now_ns() - since_ns;
    if (ready == 0) {
        fail(place, "the server has not moved for %d seconds", PATIENCE_MS / 1000);
    }
    if ((entry.revents & ~POLLOUT) != 0) {
        read_some(link);
    }
}

void link_finish(struct link *link)
{
    bool shut = false;
    while (!link->ended) {
        if (!shut && write_some(link)) {
            shutdown(link->fd, SHUT_WR);
            shut = true;
        }
        link_turn(link, LINK_WAIT, "end");
        link->in_start = link->in_end;
    }
}
