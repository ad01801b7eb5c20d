/*
 * The socket and the packets on it: net/transport/packet.c in the client role, with buffers large
 * enough that one system call moves many packets. Packets are opened where they were read and
 * sealed where they are written from.
 */
#ifndef LEAN_LINK_H
#define LEAN_LINK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limit.h"
#include "ssh_client.h"
#include "transport.h"
#include "wire.h"

#define LINK_READ_BYTES   524288
#define LINK_OUTPUT_BYTES 524288

/* Bulk data is added until this much waits: then it is time to write. */
#define LINK_BATCH_BYTES 262144

struct link {
    int fd;
    bool ended; /* the server has closed its side */
    struct packet_direction in, out;
    uint64_t bytes_in, bytes_out; /* on the wire */
    uint64_t waited_ns;           /* for the server */
    size_t in_start, in_end, out_start, out_end;
    uint8_t input[LIMIT_PACKET_BYTES + LINK_READ_BYTES];
    uint8_t output[LINK_OUTPUT_BYTES];
};

/* `fd` becomes non-blocking. */
void link_open(struct link *link, int fd);
void link_close(struct link *link);

/* Writes all that waits, says that nothing more will come, and drops what the server still sends
 * until it closes the connection. */
void link_finish(struct link *link);

/* Takes the next line off the input, without its end; false while it is not there whole. */
bool link_take_line(struct link *link, const char **line, size_t *bytes);

/* Opens the next packet; false while it is not there whole. The payload is good until the next
 * link_turn(). Fails on a corrupt one. */
bool link_take(struct link *link, struct reader *payload);

/* Adds bytes that are no packet. */
void link_add(struct link *link, const void *bytes, size_t count);

/* Adds a message, by a format of ssh_client.h: its number first. */
void link_say(struct link *link, const char *format, ...);
void link_say_list(struct link *link, const char *format, va_list arguments);

/* Less than a batch waits to be written. */
bool link_takes_more(const struct link *link);

enum link_patience {
    LINK_NO_WAIT,
    LINK_WAIT_TO_WRITE, /* until all is written, for there is more to come */
    LINK_WAIT,          /* until there is something to read */
};

/* Writes what waits and reads what is there, once each; then waits, if neither was possible. After
 * a minute without either it fails, `place` being where. */
void link_turn(struct link *link, enum link_patience patience, const char *place);

#endif
