/*
 * The state of the one connection, and how messages leave it.
 *
 * No part of it is shared with the monitor. Only dispatch.c writes `phase` and `resume`.
 */
#ifndef WREN_CONNECTION_H
#define WREN_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agree.h"
#include "channel.h"
#include "channel_stdin.h"
#include "exchange_hash.h"
#include "ipc.h"
#include "limit.h"
#include "options.h"
#include "packet.h"
#include "queue.h"
#include "ssh_numbers.h"
#include "writer.h"

/* What may arrive next. The first key exchange takes the first five in order; then the client asks
 * for userauth, logs in, and opens channels. A later key exchange interrupts any of those three. */
enum phase {
    PHASE_VERSION, /* the identification line; no packets yet */
    PHASE_KEXINIT,
    PHASE_GUESS, /* one packet that the client sent on a wrong guess: dropped */
    PHASE_ECDH,
    PHASE_NEWKEYS,
    PHASE_SERVICE,
    PHASE_AUTH,
    PHASE_OPEN, /* logged in */
    PHASE_REKEY_GUESS,
    PHASE_REKEY_ECDH,
    PHASE_REKEY_NEWKEYS,
    PHASE_ENDED,
    PHASES
};

struct kex {
    bool sent;            /* our KEXINIT is out, our NEWKEYS is not: nothing else may leave */
    bool strict;          /* kex-strict: settled by the first KEXINITs */
    bool ext_info;        /* the client takes EXT_INFO: settled by the first KEXINIT */
    bool certified;       /* K_S of this exchange is the host certificate */
    bool first_certified; /* ... and of the first one, to which logins are bound */
    bool hybrid; /* the method of this exchange: sntrup761x25519-sha512, else curve25519-sha256 */
    bool key_ready;
    unsigned exchanges;   /* begun before login */
    struct agree_key key; /* our X25519 pair for the next exchange */
    size_t client_kexinit_bytes, server_kexinit_bytes;
    uint8_t client_key[CHACHAPOLY_KEY_BYTES]; /* in force at the client's NEWKEYS */
    size_t session_id_bytes;                  /* 0 until the first exchange is done */
    uint8_t session_id[HASH_MAX_BYTES];
    uint64_t since_ms; /* when the keys in force were made */
    uint64_t asked_ms; /* when we sent KEXINIT */
};

/* What only a key exchange needs: nothing of it is in use while kex.sent is false. */
struct kex_buffers {
    uint8_t server_kexinit[LIMIT_KEXINIT_BYTES];        /* I_S */
    uint8_t client_kexinit[LIMIT_CLIENT_KEXINIT_BYTES]; /* I_C */
    uint8_t deferred[LIMIT_DEFERRED_BYTES];             /* messages held back: u32 size, payload */
};

/* The memory that an idle connection returns to the kernel (idle_trim.h). One struct, so that one
 * call returns all of it. */
struct buffers {
    struct kex_buffers kex;
    uint8_t input[LIMIT_INPUT_BYTES];
    uint8_t output[LIMIT_OUTPUT_BYTES];
};

_Static_assert(sizeof(struct buffers) == LIMIT_KEXINIT_BYTES + LIMIT_CLIENT_KEXINIT_BYTES +
                                             LIMIT_DEFERRED_BYTES + LIMIT_INPUT_BYTES +
                                             LIMIT_OUTPUT_BYTES,
               "the buffers lie side by side");

/* What is public of the host keys, as the monitor told it. */
struct host_keys {
    size_t count; /* 1 or 2 */
    uint8_t public_keys[2][32];
    unsigned proofs[2]; /* given to the client */
    size_t certificate_bytes;
    uint8_t certificate[LIMIT_HOST_CERTIFICATE_BYTES];
};

struct connection {
    const struct options *options;
    int ipc;         /* to the monitor */
    int session_ipc; /* to the session process */
    bool tcp;        /* fd 0 and 1 are a TCP socket */
    bool hurry;      /* no session has run yet: acknowledge at once (TCP_QUICKACK) */
    enum phase phase;
    enum phase resume; /* where a rekey goes back to */

    struct packet_direction in;
    struct packet_direction out;
    uint8_t host_public_key[32];
    struct host_keys host_keys;
    size_t client_version_bytes;
    char client_version[LIMIT_VERSION_LINE_BYTES + 1]; /* V_C */

    unsigned auth_requests;
    bool no_more_sessions;
    bool forced;          /* the key's grant forces a command: no environment of the client's */
    size_t first_channel; /* whose turn it is to be served first */
    size_t channels_used; /* none from here on was ever open: its pages are not there */
    struct channel channels[LIMIT_CHANNELS];

    uint64_t start_ms;
    uint64_t now_ms;   /* of this turn of the loop */
    uint64_t used_ms;  /* when a session last moved a byte */
    uint64_t woken_ms; /* when there last was anything to do */
    uint64_t read_ms;  /* when the socket was last read */
    uint64_t bytes_in;
    uint64_t bytes_out;

    /* The first reason to end. */
    bool ended;
    bool refused;       /* DISCONNECT is on its way: the client gets time to take it */
    uint32_t end_cause; /* enum ipc_end_cause */
    char end_reason[LIMIT_NOTE_BYTES + 1];

    /* Raw input [input_start, input_end), sealed output [output_start, output_end). */
    bool input_waits;   /* for room in the output: whole packets may be left */
    bool input_drained; /* the last reading left nothing in the socket */
    size_t input_start, input_end;
    size_t output_start, output_end;
    size_t input_touched, output_touched; /* the furthest ends since pages were given back */
    uint64_t begun_ms;                    /* when the last session began */
    uint64_t spared_ms; /* when pages were given back that it or a key exchange had touched */
    struct feed feed;
    size_t deferred_bytes;
    size_t deferred_sealed_bytes; /* what they will be in the output */

    struct kex kex;
    struct buffers buffers;
    struct pool pool; /* of what programs have not taken yet */
};

_Static_assert(LIMIT_INPUT_BYTES >= LIMIT_LOGGED_IN_PACKET_BYTES,
               "the largest packet fits into the input");
_Static_assert(LIMIT_REPLY_BYTES >= 5 + LIMIT_PACKET_BYTES + PACKET_OVERHEAD_BYTES,
               "the longest PONG fits into the output");
_Static_assert(LIMIT_OUTPUT_BYTES >=
                   LIMIT_REPLY_BYTES + LIMIT_CHANNEL_PACKET_BYTES + PACKET_OVERHEAD_BYTES + 13,
               "channel data fits beside the space for a reply");

/* `connection` is all zero: a static one, so that the pages of what is not used stay untouched. */
void connection_init(struct connection *connection, const struct options *options, int ipc,
                     int session_ipc, bool tcp);

/* ---- messages out ---------------------------------------------------------------------------- */

/* Starts a message in place: its number is written. While our key exchange is under way anything
 * but its own messages and DISCONNECT is held back and leaves, in order, behind NEWKEYS. */
struct writer message_begin(struct connection *connection, enum ssh_message number);

/* Seals (or holds back) what message_begin() started. One that did not fit ends the connection. */
void message_send(struct connection *connection, struct writer *message);

/* Sends what was held back; kex.c calls it behind our NEWKEYS. */
void message_send_deferred(struct connection *connection);

/* Bytes that can still be added to the output. */
size_t output_room(const struct connection *connection);

/* ---- the end --------------------------------------------------------------------------------- */

/* Each keeps only the first reason and returns PHASE_ENDED, for handlers to return. */

/* The client broke a rule: DISCONNECT goes out with the code, and the reason as its description. */
enum phase connection_refuse(struct connection *connection, enum ssh_disconnect code,
                             const char *reason);
/* The client left, or asked for what can't be had: nothing is sent. */
enum phase connection_leave(struct connection *connection, const char *reason);
/* We can't go on: DISCONNECT goes out, without the reason. */
enum phase connection_fail(struct connection *connection, const char *reason);

#endif
