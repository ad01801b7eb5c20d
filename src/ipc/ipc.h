/*
 * The requests of the network process to the monitor and, after the login, to the session process.
 *
 * There is one SOCK_SEQPACKET socket pair to each. The network process sends one request and waits
 * for its reply; one recvmsg() receives one message. A request is a struct of a fixed size. After
 * some structs comes a tail, whose length the struct holds. The receiver ends the connection if the
 * size is wrong, if the type is unknown, for the other process or not allowed in this phase, if the
 * request came too often, or if a value is out of range. Texts are fixed arrays, filled up with
 * NULs of which there is at least one.
 *
 * `type` comes first in every request and reply. The structs have no padding between their members
 * or at their end, so no byte of the sender's memory travels that it has not set.
 */
#ifndef WREN_IPC_H
#define WREN_IPC_H

#include <sys/ioctl.h>
#include <termios.h>

#include "base.h"

/* ---- the table of requests ------------------------------------------------------------------- */

/* The monitor's phases. Each request may come in some of them. */
enum monitor_phase {
    MONITOR_START = 1 << 0, /* the network process has not entered its sandbox */
    MONITOR_BEFORE_LOGIN = 1 << 1,
    MONITOR_AFTER_LOGIN = 1 << 2,
    MONITOR_OVER = 1 << 3, /* serves no more requests; waits for the network process's exit */
};
#define MONITOR_SERVING  (MONITOR_BEFORE_LOGIN | MONITOR_AFTER_LOGIN)
#define MONITOR_NOT_OVER (MONITOR_START | MONITOR_SERVING)

/* The session process has no phases. */
#define SESSION_ALWAYS 1U

/*
 * The table of requests. A row has the type; NAME of struct ipc_NAME and of the handler; the
 * receiver's function for the length of the tail; the phases in which the request may come; the
 * size of the reply, 0 for none. monitor_ipc.c and session_ipc.c make their tables of it. The
 * models of tests/proofs/models read it; the proofs, fuzzers and the hostile test include it.
 */
#define IPC_MONITOR_REQUESTS(ROW)                                                                  \
    ROW(IPC_START, start, NULL, MONITOR_START, sizeof(struct ipc_start_reply))                     \
    ROW(IPC_SIGN, sign, sign_tail_bytes, MONITOR_SERVING, sizeof(struct ipc_sign_reply))           \
    ROW(IPC_PROVE, prove, NULL, MONITOR_AFTER_LOGIN, sizeof(struct ipc_prove_reply))               \
    ROW(IPC_AUTH, auth, auth_tail_bytes, MONITOR_BEFORE_LOGIN, sizeof(struct ipc_auth_reply))      \
    ROW(IPC_NOTE, note, note_tail_bytes, MONITOR_NOT_OVER, sizeof(struct ipc_done))                \
    ROW(IPC_END, end, NULL, MONITOR_NOT_OVER, 0)

/* The replies of PTY and SPAWN carry descriptors. */
#define IPC_SESSION_REQUESTS(ROW)                                                                  \
    ROW(IPC_PTY, pty, NULL, SESSION_ALWAYS, sizeof(struct ipc_done))                               \
    ROW(IPC_SPAWN, spawn, spawn_tail_bytes, SESSION_ALWAYS, sizeof(struct ipc_done))               \
    ROW(IPC_SIGNAL, signal, NULL, SESSION_ALWAYS, sizeof(struct ipc_done))                         \
    ROW(IPC_RELEASE, release, NULL, SESSION_ALWAYS, sizeof(struct ipc_done))

#define IPC_TYPE(type, ...) type,
enum ipc_type {
    IPC_NO_TYPE, /* on the wire the types begin with 1 */
    IPC_MONITOR_REQUESTS(IPC_TYPE) IPC_SESSION_REQUESTS(IPC_TYPE) IPC_TYPES
};
#undef IPC_TYPE

/* ---- transport ------------------------------------------------------------------------------- */

/* The network process is in its sandbox and has read nothing yet. `layers` is a set of SANDBOX_*
 * (process.h). If one is missing and -B is not given, the monitor ends the connection. */
struct ipc_start {
    uint32_t type;
    uint32_t layers;
};

struct ipc_start_reply {
    uint32_t type;
    uint8_t host_public_key[32];
    uint32_t has_second; /* 1: there is a second host key, which is only announced */
    uint8_t second_public_key[32];
    uint32_t certificate_bytes; /* of the first key; 0: there is no certificate */
    uint8_t certificate[LIMIT_HOST_CERTIFICATE_BYTES];
};

/*
 * Makes the exchange hash H of a key exchange (RFC 5656 section 4) and signs it with the host key.
 * The monitor builds H itself, with its own V_S and K_S: a network process that an attacker has
 * taken over gets no signature and no session identifier of a key exchange with another server. The
 * first H becomes the session identifier (RFC 4253 section 7.2), which is part of the data that a
 * login signs; its I_S must have the cookie that was drawn for this connection before the fork, so
 * that what a network process has recorded is of no use to another one. The tail is V_C, I_C, I_S,
 * Q_C, Q_S; the method gives the sizes of Q_C and Q_S (agree.h).
 */
struct ipc_sign {
    uint32_t type;
    uint32_t hybrid;    /* 1: sntrup761x25519-sha512, 0: curve25519-sha256 */
    uint32_t certified; /* 1: K_S is the host certificate, 0: the host key */
    uint32_t client_version_bytes;
    uint32_t client_kexinit_bytes;
    uint32_t server_kexinit_bytes;
    uint8_t secret[64]; /* K: 64 bytes if hybrid, else 32 and then zeros */
};

struct ipc_sign_reply {
    uint32_t type;
    uint32_t hash_bytes; /* 32 or 64 */
    uint8_t hash[64];    /* H */
    uint8_t signature[64];
};

/* Proves to a client that we have a host key (hostkeys-prove-00@openssh.com). The monitor builds
 * the signed data itself: that name, the session identifier and the key. */
struct ipc_prove {
    uint32_t type;
    uint32_t key; /* 0: the first, 1: the second */
};

struct ipc_prove_reply {
    uint32_t type;
    uint8_t signature[64];
};

/* ---- login ----------------------------------------------------------------------------------- */

enum ipc_auth_stage {
    IPC_AUTH_PROBE = 1,  /* could this key log in? `signature` is all zero */
    IPC_AUTH_SIGNED = 2, /* log in */
};

enum ipc_key_type {
    IPC_KEY_ED25519 = 1,     /* ssh-ed25519 */
    IPC_KEY_SK_ED25519,      /* sk-ssh-ed25519@openssh.com */
    IPC_KEY_ED25519_CERT,    /* ssh-ed25519-cert-v01@openssh.com */
    IPC_KEY_SK_ED25519_CERT, /* sk-ssh-ed25519-cert-v01@openssh.com */
    IPC_KEY_UNSUPPORTED,     /* any other: counted, logged and refused without reading keys */
};

#define IPC_ALGORITHM_BYTES 64

/*
 * RFC 4252 section 7. The tail is the key blob as the client sent it; empty with
 * IPC_KEY_UNSUPPORTED. The monitor builds the signed data from these fields, its own session
 * identifier and the blob. It does not parse the blob: the child that reads keys does, without any
 * rights.
 */
struct ipc_auth {
    uint32_t type;
    uint32_t stage;
    uint32_t key_type;
    uint32_t hostbound;                  /* publickey-hostbound-v00@openssh.com */
    uint32_t blob_bytes;                 /* of the tail, at most LIMIT_KEY_BLOB_BYTES */
    uint32_t sk_flags;                   /* of a FIDO key's signature (PROTOCOL.u2f), else 0 */
    uint32_t sk_counter;                 /* the same */
    char user[LIMIT_USER_BYTES];         /* "" if the client's is longer or holds a NUL */
    char algorithm[IPC_ALGORITHM_BYTES]; /* the client's name for it, truncated; only for the log */
    uint8_t signature[64];
};

enum ipc_verdict {
    IPC_VERDICT_REFUSED = 0,
    IPC_VERDICT_ACCEPTED = 1, /* PROBE: the key could log in; SIGNED: it has */
    IPC_VERDICT_LAST = 2,     /* refused, and no more attempts: the connection must end */
    IPC_VERDICT_FULL = 3,     /* too many connections are logged in: the connection must end */
};

struct ipc_auth_reply {
    uint32_t type;
    uint32_t verdict;
    uint32_t
        forced; /* 1: the login has a forced command and takes no environment of the client's */
};

/* ---- sessions -------------------------------------------------------------------------------- */

/* `channel` is a channel number, 0 to LIMIT_CHANNELS - 1. Each channel's requests come in this
 * order: [PTY,] SPAWN, RELEASE; SIGNAL at any time. */

/* Opens a pseudo-terminal for the channel. The reply carries its master, non-blocking. */
struct ipc_pty {
    uint32_t type;
    uint32_t channel;
    struct winsize size;
    struct termios modes;
};

enum ipc_session_kind {
    IPC_SESSION_SHELL = 1,
    IPC_SESSION_EXEC = 2,      /* tail: the command */
    IPC_SESSION_SUBSYSTEM = 3, /* tail: the subsystem's name */
};

/*
 * Starts the channel's program: on its pseudo-terminal if it has one, else on pipes. The tail is
 * `environment_bytes` of "NAME=VALUE\0"..., then `command_bytes` without a NUL. The reply carries,
 * if it says done: [stdin, stdout, stderr,] exit pipe. Without a terminal these are our ends of
 * three pipes; with one there is only the exit pipe. All are non-blocking. The exit pipe gives one
 * struct ipc_exit when the program has ended.
 */
struct ipc_spawn {
    uint32_t type;
    uint32_t channel;
    uint32_t kind;
    uint32_t environment_bytes;
    uint32_t command_bytes;
    char term[LIMIT_TERM_BYTES]; /* TERM, or "" */
};

#define IPC_SPAWN_TAIL_BYTES (LIMIT_ENVIRONMENT_BYTES + LIMIT_COMMAND_BYTES)

/* At most this many descriptors travel with a reply. */
#define IPC_REPLY_DESCRIPTORS 4

struct ipc_exit {
    uint32_t signaled; /* 0: `status` is the exit status; 1: it is a signal number */
    uint32_t status;
    uint32_t core_dumped;
};

/* Sends a signal to the program's process group. */
struct ipc_signal {
    uint32_t type;
    uint32_t channel;
    uint32_t number; /* this machine's signal number, one that RFC 4254 section 6.10 names */
};

/* The channel is closed: its number is free again. Its program is not killed (a pseudo-terminal
 * hangs up when the network process closes the master). */
struct ipc_release {
    uint32_t type;
    uint32_t channel;
};

struct ipc_done {
    uint32_t type;
    uint32_t done; /* 0: it failed, and the process that was asked has logged why */
};

/* ---- log ------------------------------------------------------------------------------------- */

/* Logs `event=net text="…"`; tail: the text. */
struct ipc_note {
    uint32_t type;
    uint32_t level; /* LOG_EVENT to LOG_TRACE */
    uint32_t text_bytes;
};

enum ipc_end_cause {
    IPC_END_CLIENT = 1, /* exit 0 */
    IPC_END_OURS = 2,   /* exit 111 */
};

/* The connection is over; the process exits next. */
struct ipc_end {
    uint32_t type;
    uint32_t cause;
    uint64_t bytes_in; /* on the wire */
    uint64_t bytes_out;
    char reason[LIMIT_NOTE_BYTES + 1];
    /* For the log of a connection without a login; "" if there is none. */
    char asked[LIMIT_USER_BYTES];              /* the last user name of the client */
    char client[LIMIT_VERSION_LINE_BYTES + 1]; /* V_C */
    char offer[LIMIT_NOTE_BYTES + 1];          /* its names of the kind that has none of ours */
};

/* ---- sizes ----------------------------------------------------------------------------------- */

/* The largest request to the monitor with its tail: a SIGN, whose two public keys (agree.h) have
 * less than 4096 bytes. */
#define IPC_MONITOR_REQUEST_BYTES                                                                  \
    (sizeof(struct ipc_sign) + LIMIT_VERSION_LINE_BYTES + LIMIT_CLIENT_KEXINIT_BYTES +             \
     LIMIT_KEXINIT_BYTES + 4096)

/* The same to the session process. */
#define IPC_SESSION_REQUEST_BYTES (sizeof(struct ipc_spawn) + IPC_SPAWN_TAIL_BYTES)

_Static_assert(sizeof(struct ipc_auth) + LIMIT_KEY_BLOB_BYTES <= IPC_MONITOR_REQUEST_BYTES,
               "an AUTH request fits");
_Static_assert(sizeof(struct ipc_end) <= IPC_MONITOR_REQUEST_BYTES, "an END request fits");

/* The receiver reads `type` before it knows which struct it has (ipc_serve.c, ask.c). No
 * padding: each struct is as long as its members together. struct termios is the C library's and
 * may have padding of its own. */
#define IPC_STRUCT(name, bytes)                                                                    \
    _Static_assert(offsetof(struct name, type) == 0 && sizeof(struct name) == (bytes),             \
                   "the type first and no padding in " #name)
IPC_STRUCT(ipc_start, 2 * 4);
IPC_STRUCT(ipc_sign, 6 * 4 + 64);
IPC_STRUCT(ipc_sign_reply, 2 * 4 + 64 + 64);
IPC_STRUCT(ipc_start_reply, 4 + 32 + 4 + 32 + 4 + LIMIT_HOST_CERTIFICATE_BYTES);
IPC_STRUCT(ipc_prove, 2 * 4);
IPC_STRUCT(ipc_prove_reply, 4 + 64);
IPC_STRUCT(ipc_auth, 7 * 4 + LIMIT_USER_BYTES + IPC_ALGORITHM_BYTES + 64);
IPC_STRUCT(ipc_auth_reply, 3 * 4);
IPC_STRUCT(ipc_pty, 2 * 4 + sizeof(struct winsize) + sizeof(struct termios));
IPC_STRUCT(ipc_spawn, 5 * 4 + LIMIT_TERM_BYTES);
IPC_STRUCT(ipc_signal, 3 * 4);
IPC_STRUCT(ipc_release, 2 * 4);
IPC_STRUCT(ipc_done, 2 * 4);
IPC_STRUCT(ipc_note, 3 * 4);
IPC_STRUCT(ipc_end, 2 * 4 + 2 * 8 + 2 * (LIMIT_NOTE_BYTES + 1) + LIMIT_USER_BYTES +
                        LIMIT_VERSION_LINE_BYTES + 1);
#undef IPC_STRUCT
_Static_assert(sizeof(struct ipc_exit) == 3 * 4, "no padding in ipc_exit");

/* ---- serving requests, ipc_serve.c ----------------------------------------------------------- */

/* The receiving side, ipc_serve.c, in the monitor and in the session process: receives one
 * request, finds it in the process's table, checks its size and phase, has it handled, and sends
 * the reply.
 */

/* Descriptors that a reply carries. ipc_serve() closes them. */
struct passed {
    unsigned count;
    int descriptors[IPC_REPLY_DESCRIPTORS];
};

/* It comes to its handler as zeros, but for its type and its size. */
struct reply {
    size_t bytes; /* 0: nothing is sent */
    union {
        uint32_t type;
        struct ipc_start_reply start;
        struct ipc_sign_reply sign;
        struct ipc_prove_reply prove;
        struct ipc_auth_reply auth;
        struct ipc_done done;
    } body;
    struct passed passed;
};

/* A row of a process's table. The request's type is the index; rows of the other process's requests
 * are all zero. */
struct request_row {
    uint16_t bytes;                            /* of the struct */
    uint16_t reply_bytes;                      /* of the reply's struct; 0: there is no reply */
    uint16_t phases;                           /* the phases in which it may come: a set */
    size_t (*tail_bytes)(const void *request); /* NULL: the request has no tail */
    /* Handles a request of the right size, which is aligned for its struct; the tail follows it.
     * `process` is the state of the process. Fills in the reply and returns NULL, or returns why
     * the connection must end. */
    const char *(*handle)(void *process, const void *request, struct reply *reply);
};

/* tail_bytes() returns this for a length above the limit. No request is so long. */
#define REQUEST_TAIL_TOO_LONG SIZE_MAX

enum request_outcome {
    REQUEST_NONE,   /* there was nothing to receive */
    REQUEST_SERVED, /* handled, or *wrong says why the connection must end */
    REQUEST_CLOSED, /* the network process has closed its end */
};

/*
 * Receives one request and answers it. `request` has `room` bytes and is aligned for any request;
 * it is wiped afterwards, as it may have held K of a key exchange. A NUL is put after the request,
 * so that a text at its end is a C string: the longest request has room - 1 bytes. Never waits for
 * a request, nor for space for the reply: a network process that does not read its replies ends the
 * connection. `phase` is the process's present phase. Sets *wrong to NULL, or to the reason why the
 * connection must end.
 */
enum request_outcome ipc_serve(int socket, const struct request_row table[static IPC_TYPES],
                               unsigned phase, void *process, void *request, size_t room,
                               const char **wrong);

#endif
