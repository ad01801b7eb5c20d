/*
 * A connection without a socket: the test says messages to dispatch(), reads what stands in the
 * output buffer, and plays the monitor and the session process at the other ends of their pairs.
 * Requests and replies are strictly in turn, so a reply can be laid out before the request that it
 * answers; a request without one fails after a moment, as one whose client has gone.
 */
#ifndef WREN_UNIT_RIG_H
#define WREN_UNIT_RIG_H

#include "net.h"
#include "wire.h"
#include "wire_rig.h"

struct rig {
    struct net_options options;
    struct connection *connection;
    int monitor;       /* the monitor's end of its pair */
    int session;       /* the session process's */
    uint32_t sequence; /* of the next message that is said */
    struct wire up;    /* client to server, for rig_deliver() */
    struct wire down;  /* server to client */
    size_t heard_bytes;
    uint8_t heard[WIRE_ROOM]; /* the message heard last, its number first */
};

/* The connection starts in `phase`, in the clear, as connection_init() leaves it. */
void rig_open(struct rig *rig, enum ssh_phase phase);

/* Forgets all output, the end and all channels: as new, in `phase`. */
void rig_reset(struct rig *rig, enum ssh_phase phase);

/* ---- the client ------------------------------------------------------------------------------ */

/* Gives the message to dispatch(), in a block of exactly its size. */
void rig_say(struct rig *rig, int number, const char *format, ...);
void rig_say_bytes(struct rig *rig, const void *payload, size_t payload_bytes);

/* Puts the message into the input as a packet, and handles all that is complete there. */
void rig_send(struct rig *rig, int number, const char *format, ...);
void rig_send_bytes(struct rig *rig, const void *payload, size_t payload_bytes);
void rig_deliver(struct rig *rig, const void *bytes, size_t count);

/* The next message of the output must have this number: a reader over what follows it. */
struct reader rig_hear(struct rig *rig, int number);

/* The next message must be this one, byte for byte. */
void rig_expect(struct rig *rig, int number, const char *format, ...);
void rig_expect_silence(const struct rig *rig);

/* The connection has ended: with DISCONNECT, this code and a reason that holds `reason`; without a
 * word; or for our own sake, with a DISCONNECT that does not tell the reason. */
void rig_expect_refusal(struct rig *rig, uint32_t code, const char *reason);
void rig_expect_left(struct rig *rig, const char *reason);
void rig_expect_failed(struct rig *rig, const char *reason);
void rig_expect_alive(const struct rig *rig, enum ssh_phase phase);

/* ---- the monitor and the session process ------------------------------------------------------
 */

/* Each goes by the type, with which every request and reply starts, to the one of the two that has
 * it. */
void rig_reply(struct rig *rig, const void *reply, size_t reply_bytes);
void rig_reply_descriptors(struct rig *rig, const void *reply, size_t reply_bytes, const int *fds,
                           size_t count);
void rig_reply_done(struct rig *rig, uint32_t type, uint32_t done);

/* The next request, which must be of this type and size; into `request`. Tails: at least. */
size_t rig_request(struct rig *rig, uint32_t type, void *request, size_t request_bytes);
void rig_expect_no_request(const struct rig *rig);

/* The next request is a note of this level and text. */
void rig_expect_note(struct rig *rig, uint32_t level, const char *text);

/* Puts a socket pair in place of descriptors 0 and 1; returns the client's end. */
int rig_client(void);

/* Descriptors that are open, for tests that nothing leaks. */
int rig_open_descriptors(void);

#endif
