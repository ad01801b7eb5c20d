/*
 * The network process: the connection, and what its loop does with it.
 */
#ifndef WREN_NET_H
#define WREN_NET_H

#include <sys/uio.h>

#include "agree.h"
#include "base.h"
#include "channel_streams.h"
#include "channels.h"
#include "ipc.h"
#include "process.h"
#include "transport.h"
#include "wire.h"

/* ---- the connection, connection.c ------------------------------------------------------------ */

/* The state of the connection, and how messages are sent on it. Only the network process has it.
 * After connection_init() only dispatch.c writes `phase` and `resume`. */

/* Which message may arrive next; the table is in dispatch.c. The first key exchange goes through
 * the first five phases in order. Then the client requests the service ssh-userauth, logs in, and
 * opens channels. A later key exchange interrupts one of these three phases and returns to it. */
enum ssh_phase {
    SSH_PHASE_VERSION, /* the identification line; no packets yet */
    SSH_PHASE_KEXINIT,
    SSH_PHASE_GUESS, /* the packet that follows a wrong guess: ignored (RFC 4253 section 7) */
    SSH_PHASE_ECDH,
    SSH_PHASE_NEWKEYS,
    SSH_PHASE_SERVICE,
    SSH_PHASE_AUTH,
    SSH_PHASE_OPEN, /* logged in */
    SSH_PHASE_REKEY_GUESS,
    SSH_PHASE_REKEY_ECDH,
    SSH_PHASE_REKEY_NEWKEYS,
    SSH_PHASE_ENDED,
    SSH_PHASES
};

struct kex {
    bool sent;            /* we sent KEXINIT but not yet NEWKEYS: other messages must wait */
    bool strict;          /* strict key exchange: decided by the first KEXINITs */
    bool ext_info;        /* the client accepts EXT_INFO: decided by its first KEXINIT */
    bool certified;       /* K_S of this exchange is the host certificate */
    bool first_certified; /* the same of the first exchange, to which logins are bound */
    bool hybrid;          /* this exchange uses sntrup761x25519-sha512, else curve25519-sha256 */
    bool key_ready;       /* `key` holds a pair */
    unsigned begun_before_login;
    struct agree_key key;             /* our X25519 pair for the next exchange */
    uint8_t cookie[SSH_COOKIE_BYTES]; /* of our KEXINIT; the monitor knows that of the first */
    size_t client_kexinit_bytes, server_kexinit_bytes;
    uint8_t client_key[CHACHAPOLY_KEY_BYTES]; /* used from the client's NEWKEYS on */
    size_t session_id_bytes;                  /* 0 until the first H is made */
    uint8_t session_id[HASH_MAX_BYTES];
    uint64_t since_ms; /* when we began to use the present keys */
};

/* Used only during a key exchange: from our KEXINIT (kex.sent) to our NEWKEYS. The first page,
 * which can't be given back, is the one that the first key exchange does not write. */
struct kex_buffers {
    uint8_t deferred[LIMIT_DEFERRED_BYTES];             /* messages held back: u32 size, payload */
    uint8_t server_kexinit[LIMIT_KEXINIT_BYTES];        /* I_S */
    uint8_t client_kexinit[LIMIT_CLIENT_KEXINIT_BYTES]; /* I_C */
};

/* The memory that an idle connection returns to the kernel (below). One struct, so that one
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

/* The public parts of the host keys, as the monitor sent them. */
struct host_keys {
    size_t count;               /* 1 or 2 */
    uint8_t public_keys[2][32]; /* the first signs key exchanges */
    unsigned proofs[2];         /* signatures of hostkeys-prove that the client has asked for */
    size_t certificate_bytes;
};

/* struct iovec has no const, although writev() and sendmsg() only read. */
static inline struct iovec iovec_of(const void *bytes, size_t count)
{
    union {
        const void *source;
        void *part;
    } pointer = {.source = bytes};
    return (struct iovec){.iov_base = pointer.part, .iov_len = count};
}

/* What this process needs of the command line (options.h). */
struct net_options {
    int verbosity;               /* -1 with -q, 0, then one for each -v */
    bool no_sntrup;              /* -P */
    bool no_curve25519;          /* -S */
    bool forced;                 /* -e: no environment of the client's */
    bool anybody;                /* -N */
    const struct banner *banner; /* of -b, or NULL */
    unsigned login_seconds;
    unsigned idle_seconds;      /* 0 for no limit */
    unsigned life_seconds;      /* 0 for no limit */
    unsigned keepalive_seconds; /* 0 for none */
};

/* Trick: small together. The members that a session with one channel and no host certificate writes
 * lie on the first page. */
struct connection {
    const struct net_options *options;
    int ipc;         /* to the monitor */
    int session_ipc; /* to the session process */
    enum ssh_phase phase;
    enum ssh_phase resume; /* the phase after a later key exchange */
    uint64_t now_ms;       /* of this turn of the loop */

    struct packet_direction in;
    struct packet_direction out;
    struct kex kex;
    size_t client_version_bytes;
    char client_version[LIMIT_VERSION_LINE_BYTES + 1]; /* V_C */

    /* What the client has asked for, and what it may not ask for any more. */
    struct {
        unsigned auth_requests;
        bool usable_key_offered;
        bool forced; /* the key's grant forces a command: no environment of the client's */
        bool no_more_sessions;
        unsigned forwardings; /* the kinds that were refused and logged, a bit each */
    } client;

    /* What the deadlines are counted from (deadlines.c). */
    struct {
        uint64_t start_ms;
        uint64_t used_ms;        /* when a session last moved a byte */
        uint64_t read_ms;        /* when the socket was last read */
        uint64_t asked_alive_ms; /* when the last keepalive was due */
        /* Of our output, modulo 2^32: up to the last keepalive; and what had arrived at the last
         * look, for keepalives and for the idle time. */
        uint32_t asked_bytes, alive_taken, idle_taken;
        uint8_t keepalives; /* since the socket was last read */
        bool warned;        /* terminals know that the connection ends soon */
    } times;

    /* How the last reading and writing went (loop.c). */
    struct {
        bool tcp;         /* descriptors 0 and 1 are a TCP socket */
        bool quickack;    /* no session has run yet: acknowledge at once (TCP_QUICKACK) */
        bool input_waits; /* for room in the output: whole packets may be left */
        bool input_empty; /* the last reading left nothing in the socket */
        bool output_held; /* the socket did not take all of the last output */
        uint64_t bytes_in;
        uint64_t bytes_out;
    } socket;

    /* Which pages can be returned to the kernel (idle_trim.c). */
    struct {
        uint64_t woken_ms;                    /* when there last was anything to do */
        uint64_t begun_ms;                    /* when the last session began */
        uint64_t spared_ms;                   /* when pages of it or a key exchange were returned */
        size_t input_touched, output_touched; /* the furthest ends since pages were returned */
    } pages;

    /* Raw input [input_start, input_end), sealed output [output_start, output_end). */
    size_t input_start, input_end;
    size_t output_start, output_end;
    struct stdin_batch stdin_batch;
    size_t deferred_bytes;
    size_t deferred_sealed_bytes; /* what they will be in the output */

    struct host_keys host_keys;
    char asked[LIMIT_USER_BYTES]; /* the last user name that the client gave, for the log */
    struct {
        uint64_t delay_ms; /* how long a small window takes to come */
        uint64_t old_ms;   /* when that is to be measured anew; 0 for not yet measured */
    } link;                /* of the client, channel_window.c */
    size_t first_channel;  /* whose turn it is to be served first */
    size_t channels_used;  /* channels from here on were never opened */
    struct channel channels[LIMIT_CHANNELS];
    uint8_t certificate[LIMIT_HOST_CERTIFICATE_BYTES]; /* of the first host key */

    /* The first reason to end. */
    struct {
        bool reached;
        bool disconnected; /* DISCONNECT is in the output: wait for the client to read it */
        uint32_t cause;    /* enum ipc_end_cause */
        char reason[LIMIT_NOTE_BYTES + 1];
        char types_offered[2 * IPC_ALGORITHM_BYTES]; /* of keys that are not usable: a name-list */
        char offer[LIMIT_NOTE_BYTES + 1];            /* of the client, if it has none of ours */
    } end;

    struct buffers buffers;
    struct pool pool; /* of what programs have not taken yet */
};

_Static_assert(offsetof(struct connection, channels[0].environment) <= 4096,
               "what one channel needs lies on the first page");
_Static_assert(LIMIT_INPUT_BYTES >= LIMIT_LOGGED_IN_PACKET_BYTES &&
                   LIMIT_READ_BYTES >= LIMIT_PACKET_BYTES,
               "the largest packet fits into the input");
_Static_assert(LIMIT_NOTE_BYTES >= 2 * IPC_ALGORITHM_BYTES + sizeof("no usable key offered (); "),
               "a reason begins with the types of keys");
_Static_assert(LIMIT_REPLY_BYTES >= 5 + LIMIT_PACKET_BYTES + PACKET_OVERHEAD_BYTES,
               "the longest PONG fits into the output");
_Static_assert(LIMIT_OUTPUT_BYTES >=
                   LIMIT_REPLY_BYTES + LIMIT_CHANNEL_PACKET_BYTES + PACKET_OVERHEAD_BYTES + 13,
               "channel data fits beside the space for a reply");

/* `connection` must be all zero. Trick: untouched. Members that start as zero are not written, so
 * that their pages take no memory until they are used. */
void connection_init(struct connection *connection, const struct net_options *options, int ipc,
                     int session_ipc, bool tcp);

/* Notes that the connection is in use: for the idle time of -i. */
void connection_mark_used(struct connection *connection);

/* ---- sending messages, connection.c ---------------------------------------------------------- */

/* Starts a message in the output buffer and writes its number. Between our KEXINIT and our NEWKEYS
 * only key exchange messages and DISCONNECT may be sent (RFC 4253 section 7.1): others are held
 * back, and leave in the same order after NEWKEYS. */
struct writer message_begin(struct connection *connection, enum ssh_message number);

/* Encrypts or holds back the message that message_begin() started. A message that does not fit ends
 * the connection. */
void message_send(struct connection *connection, struct writer *message);

/* Sends the messages that were held back. For kex.c, after our NEWKEYS. */
void message_send_deferred(struct connection *connection);

/* Free bytes in the output buffer. */
size_t output_room(const struct connection *connection);

/* ---- the end, connection.c ------------------------------------------------------------------- */

/* Each returns SSH_PHASE_ENDED, which the handler returns in turn. Only the first reason counts. A
 * format is a literal, as for printf(). */

/* The client broke a rule: sends DISCONNECT with the code and the reason. */
__attribute__((format(printf, 3, 4))) enum ssh_phase connection_refuse(
    struct connection *connection, enum ssh_disconnect code, const char *format, ...);
/* The client left, or does not speak our protocol: sends nothing. If it wanted to log in and has
 * offered no key of our types, the reason begins with that. */
__attribute__((format(printf, 2, 3))) enum ssh_phase connection_leave(struct connection *connection,
                                                                      const char *format, ...);
/* We cannot continue: sends DISCONNECT without the reason. */
enum ssh_phase connection_fail(struct connection *connection, const char *reason);

/* ---- messages and their handlers, dispatch.c ------------------------------------------------- */

/* Which message may arrive in which phase, and who handles it: one table. */

enum dispatch_verdict {
    DISPATCH_HANDLE,
    DISPATCH_REFUSE,        /* DISCONNECT */
    DISPATCH_UNIMPLEMENTED, /* answer UNIMPLEMENTED and go on */
};

/* What to do with message `number` in `phase`. Sets *handler for DISPATCH_HANDLE. */
enum dispatch_verdict dispatch_lookup(uint8_t number, enum ssh_phase phase,
                                      message_handler **handler);

/* Handles one payload of at least one byte; `sequence` is the sequence number of its packet. */
void dispatch(struct connection *connection, const uint8_t *payload, size_t payload_bytes,
              uint32_t sequence);

/*
 * Handles what has arrived in the input: the client's identification line, then every packet that
 * is complete, as long as the output has room for an answer. Sets `input_waits` if that room is
 * missing. Data for programs stays in the input buffer until channel_poll_turn() writes it.
 */
void dispatch_input(struct connection *connection);

/* ---- the login, userauth.c ------------------------------------------------------------------- */

/* User authentication (RFC 4252): the methods `publickey` (section 7) and
 * `publickey-hostbound-v00@openssh.com` (OpenSSH's PROTOCOL, section 3.1) with ed25519 keys, FIDO
 * keys and their certificates. All other methods fail. The monitor decides. */

/* Handler of USERAUTH_REQUEST; after login the request is ignored (RFC 4252 section 5.1). */
message_handler userauth_on_request;

/* ---- deadlines, deadlines.c ------------------------------------------------------------------ */

/* The deadlines of a connection: of the login, idle time (-i), the longest life (-M); and when a
 * silent client gets a keepalive (-k). A later key exchange has no deadline of its own: a client
 * that is asleep, or on a slow link, can't answer. The deadlines here go on counting during it. */

/* Ends the connection if a deadline has passed. Sends what is due before it: a keepalive, or the
 * warning on terminals that the connection's life is nearly over. */
void deadlines_check(struct connection *connection);

/* When deadlines_check() next has something to do, by the clock of now_ms. */
uint64_t deadlines_next_ms(const struct connection *connection);

/* ---- memory of an idle connection, idle_trim.c ----------------------------------------------- */

/* Memory of an idle connection: after a burst of traffic or a key exchange, pages of empty buffers
 * and of the stack are returned to the kernel (process/process.h). */

/* True if enough pages can be returned for a system call to pay. */
bool idle_trim_due(const struct connection *connection);

/* Returns all pages of empty buffers, and of the stack below the caller. */
void idle_trim(struct connection *connection);

/* The same, but only once after each key exchange and each start of a session: a bulk transfer,
 * which may be long, does not need what they have used. */
void idle_trim_before_bulk(struct connection *connection);

/* ---- the loop, loop.c ------------------------------------------------------------------------ */

/* The network process's one loop: poll, deadlines, all reading and writing of the connection. */

/*
 * Serves the connection on descriptors 0 and 1, which must be non-blocking, from greeting to end.
 * `layers` are the sandbox layers in force (process.h). Returns when the connection has
 * ended and the monitor knows why.
 */
void loop_run(struct connection *connection, uint32_t layers);

#endif
