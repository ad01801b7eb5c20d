/*
 * The world of a network process under test: its client, monitor, session process, programs, kernel
 * and clock, all played from the input of a fuzzer. loop_run() of the product runs in it. No real
 * system call is made.
 *
 *     calls.c       the system calls: descriptors 0 and 1, the clock; poll.c: where it waits
 *     programs.c    the programs' pipes and terminals, and who owns which descriptor
 *     peers.c       the monitor and the session process
 *     cipher.c      stand-ins for crypto/: packets have only a tag that depends on the key
 *     client.c      what the client sends, with client_channels.c; say.c puts it into packets
 *     phases.c      which message may come when; where every message passes
 *     judge.c       what the client's messages mean
 *     listen.c      what the product may send, message by message
 *     wire.c        the bytes on the wire
 *     invariants.c  what holds of the product's state between two turns
 *     script.c      the operations that an input is made of
 *     ending.c      the end of a script: everything must come to rest
 */
#ifndef WREN_FUZZ_WORLD_H
#define WREN_FUZZ_WORLD_H

#include "fuzz.h"
#include "net.h"
#include "ssh_client.h"

#define CLIENT_FD  0
#define OUTPUT_FD  1
#define MONITOR_FD 3
#define SESSION_FD 4
#define FIRST_FD   100 /* of programs; a number is used only once */
#define LAST_FD    400

#define EPOCHS        8 /* of the last key exchanges the keys are known */
#define PROGRAMS      60
#define PEER_CHANNELS 100
#define EXPECTATIONS  4096
#define UNLIMITED     SIZE_MAX

enum stream { STREAM_STDIN, STREAM_STDOUT, STREAM_STDERR, STREAM_EXIT, STREAMS };

/* What the kernel and the session process know of a program. With a terminal the first two
 * descriptors are its master. */
struct program {
    uint32_t slot;
    bool pty;
    int fds[STREAMS];
    size_t room;       /* what its stdin takes now */
    bool input_closed; /* it has closed its stdin */
    bool unnoticed;    /* and poll() has not seen it yet */
    size_t taken;      /* bytes of stdin so far */
    size_t waiting[2]; /* bytes of stdout and stderr in their pipes */
    size_t sent[2];    /* bytes that the product has read */
    bool output_closed[2];
    bool exited;
    struct ipc_exit result;
    size_t result_bytes;
    int channel; /* in world.channels */
};

/* A channel as its client sees it. */
struct peer_channel {
    uint32_t number;  /* the client's, used only once */
    uint32_t slot;    /* the server's */
    uint32_t packet;  /* the most that we may be sent in one packet */
    uint64_t window;  /* what we may still be sent */
    uint32_t credit;  /* what we may still send */
    size_t in_flight; /* sent, and not handled yet */
    bool confirmed, heard_eof, heard_close, heard_status, heard_eow;
    bool said_eof, said_close;
    int program;     /* in world.programs, or -1 */
    size_t heard[2]; /* bytes of stdout and stderr */
    uint8_t *data;   /* all that was sent to the program */
    size_t data_bytes, data_room;
};

/* A reply that is due. Replies come in the order of the requests. */
struct expectation {
    uint8_t number;  /* of the request */
    uint32_t value;  /* channel, sequence number or size */
    uint32_t slot;   /* CHANNEL_OPEN: the expected one, or LIMIT_CHANNELS if it must be refused */
    uint32_t digest; /* of the data of a PING */
};

struct sealed {
    uint32_t payload_bytes;
    uint32_t digest;
};

/* How the next requests are answered: see peers.c. */
enum answer {
    ANSWER_YES,
    ANSWER_NO,
    ANSWER_LAST,
    ANSWER_FORCED,
    ANSWER_INTERRUPTED,
    ANSWER_LATE,
    ANSWER_TOO_LATE,
    ANSWER_SHORT,
    ANSWER_LONG,
    ANSWER_WRONG_TYPE,
    ANSWER_CLOSED,
    ANSWER_RESET,
    ANSWER_CUT_OFF,
    ANSWER_ONE_LESS,
    ANSWER_ONE_MORE,
    ANSWER_ODD,
    ANSWER_NO_WITH_DESCRIPTORS,
    ANSWER_SEND_INTERRUPTED,
    ANSWER_SEND_FAILS,
    ANSWERS
};

enum goal {
    GOAL_IDENTIFIED,
    GOAL_KEX,
    GOAL_STRICT,
    GOAL_HYBRID,
    GOAL_CERTIFIED,
    GOAL_LOGIN,
    GOAL_PROBED,
    GOAL_OPEN,
    GOAL_PTY,
    GOAL_SPAWNED,
    GOAL_TAKEN,
    GOAL_QUEUED,
    GOAL_OUTPUT,
    GOAL_STDERR,
    GOAL_EXHAUSTED,
    GOAL_RETURNED,
    GOAL_GROWN,
    GOAL_REKEY_CLIENT,
    GOAL_REKEY_SERVER,
    GOAL_HELD_BACK,
    GOAL_GUESS,
    GOAL_DISCONNECT,
    GOAL_EOF,
    GOAL_CLOSE,
    GOAL_EXIT_STATUS,
    GOAL_EXIT_SIGNAL,
    GOAL_EOW,
    GOAL_COALESCED,
    GOAL_TRIMMED,
    GOAL_SIGNALED,
    GOAL_PROVED,
    GOAL_SLOTS_FULL,
    GOAL_DRAINED,
    GOAL_CORRUPT,
    GOAL_LINGERED,
    GOAL_SHORT_WRITE,
    GOAL_PACED,
    GOAL_WIDENED,
    GOAL_BREAK,
    GOAL_WAITING,
    GOALS
};

struct client {
    uint8_t *arriving; /* sent, and not read by the product yet */
    size_t arriving_start, arriving_end;
    uint32_t sequence, epoch;
    bool strict, hybrid, declared_strict;
    bool closed;    /* no more will come */
    int read_error; /* instead of the end */
    uint32_t next_number;
};

struct world {
    struct connection *connection;
    struct net_options options;
    bool running;    /* system calls are simulated */
    bool plain_tags; /* tags do not depend on anything: raw bytes can be packets */
    struct input script;
    uint8_t config[2];
    uint64_t now_ms;
    uint64_t goals;
    uint32_t steps; /* what moved: a byte, a descriptor, an operation */
    uint32_t idle_steps, idle_turns;
    uint32_t turns;
    unsigned ending; /* the stage of the end */

    /* The socket. */
    struct client client;
    uint32_t parts; /* for the sizes of what arrives together, or 0 */
    size_t chunk;   /* the most that one read() returns */
    size_t socket_room;
    int write_error; /* of the next write() */
    bool output_shut;
    int poll_error; /* of the next ppoll() */
    int spurious;   /* the entry of the next ppoll() that is said to be ready, or -1 */
    bool monitor_ends, monitor_gone, session_gone;
    size_t high_input, high_output; /* what has to be cleared after the run */

    /* Programs. */
    int next_fd;
    bool open_fds[LAST_FD];
    uint8_t fd_program[LAST_FD];
    int program_count;
    struct program programs[PROGRAMS];
    int slot_program[LIMIT_CHANNELS]; /* or -1 */
    uint8_t slot_state[LIMIT_CHANNELS];
    bool slot_given_up[LIMIT_CHANNELS];
    bool refuses_wide_pipes, refuses_ioctl, breaks, ignores;

    /* Monitor and session process. */
    uint8_t answers[32];
    size_t answer_count, answer_next;
    int late;
    bool replies;     /* a reply is due */
    bool ended;       /* END has been sent */
    uint32_t request; /* the last type */
    uint32_t request_slot;
    bool request_signed;
    unsigned signatures, proofs[2], starts;
    bool banner_heard;
    bool forced;
    unsigned granted; /* descriptors that the last request has brought */
    uint32_t verdict;

    /* Keys: [0] from the client, [1] to it. */
    uint8_t keys[2][EPOCHS][CHACHAPOLY_KEY_BYTES];
    uint32_t exchanges; /* signed so far */
    struct secrets secrets;
    size_t session_id_bytes; /* 0 before the first exchange */
    uint8_t signature[64];
    uint32_t in_epoch, out_epoch;
    uint32_t in_sequence, out_sequence;

    /* judge.c: the message that is being handled. */
    bool handling;
    enum ssh_phase phase_before;
    enum ssh_phase resume;
    uint8_t number;
    bool must_end, must_live;
    uint8_t *guarded; /* poisoned while the message is handled */
    size_t guarded_bytes;
    bool wrong_guess, strict, strict_known;
    size_t kexinit_bytes[2]; /* the client's, ours */
    uint32_t kexinit_digest[2];
    uint32_t q_c_digest;
    bool no_more_sessions;
    bool ambiguous; /* two channels of the client have the same number: they are not told apart */
    uint32_t handled_slot;            /* of the CLOSE that is being handled */
    int slot_channel[LIMIT_CHANNELS]; /* or -1 */
    int channel_count;
    struct peer_channel channels[PEER_CHANNELS];
    size_t expected_first, expected_end;
    struct expectation expected[EXPECTATIONS];

    /* listen.c */
    bool said_disconnect, said_kexinit, said_reply, said_success, in_exchange;
    bool logged_in;
    uint8_t first_method[64], first_host_key[64];

    /* wire.c */
    uint8_t *wire;
    size_t wire_bytes, wire_room;
    bool wire_identified;
    uint32_t wire_epoch, wire_sequence;
    size_t sealed_first, sealed_end;
    struct sealed sealed[8192];
    uint64_t wire_total;
    uint32_t wire_digest; /* of all packets, if tags are plain */
    uint32_t requests;    /* a digest of what the monitor was asked */
};

extern struct world world;

/* ---- a run ----------------------------------------------------------------------------------- */

/* Runs one connection over `script`, whose first two bytes configure it, and clears the state of
 * the product afterwards as far as it was touched. */
void world_run(struct input script);

/* The same for bytes that the client sends as they are, in parts whose sizes depend on `parts`; 0
 * is all at once. Tags are always the same, and no program is ever started: what the client gets
 * must not depend on the parts. */
void world_run_bytes(struct input bytes, uint32_t parts);

/* Clears the state of the product, as far as a run has touched it. world_run() does it itself. */
void world_clear(void);

void goal_reached(enum goal goal);

/* With FUZZ_GOALS in the environment: prints the names of the goals that this run has reached. */
void goals_print(void);

uint32_t digest_of(const void *bytes, size_t count);

/* ---- calls.c, programs.c --------------------------------------------------------------------- */

void moved(void);

/* What a stream holds from this position on: 128 KiB at least can be read. */
const uint8_t *stream_bytes(int stream, size_t position);

int program_new(uint32_t slot, bool pty);
void program_give(int program, enum stream stream);
struct program *program_of(int fd);
int stream_of(int fd);
short program_events(int fd, short wanted);
bool product_holds(int fd);

/* ---- cipher.c -------------------------------------------------------------------------------- */

#define TAG_MAGIC 0x77726e21U

void cipher_tag(uint8_t tag[CHACHAPOLY_TAG_BYTES], const uint8_t *packet, size_t body_bytes,
                uint32_t epoch, uint32_t sequence);
void cipher_exchange(bool hybrid, const uint8_t *h, size_t h_bytes);

/* ---- say.c, client.c, client_channels.c ------------------------------------------------------ */

/* A message of the client's, by a format of ssh_client.h: its number first. Or in parts: what
 * `saying` is given between the two goes with it. */
void say(const char *format, ...);
extern struct fields saying;
void say_begin(uint8_t number);
void say_end(void);

/* A string: the blob of an ed25519 key whose bytes are all the same. */
void say_host_key(uint8_t byte);

void client_raw(const void *bytes, size_t count);
void client_say(const uint8_t *payload, size_t payload_bytes);
void client_corrupt(size_t from_end, uint8_t mask);
void client_identify(uint8_t kind);
void client_kexinit(uint8_t kind, uint8_t more);
void client_ecdh_init(uint8_t kind);
void client_newkeys(void);
void client_auth(uint8_t kind);
void client_open(uint8_t window, uint8_t packet);
void client_request(struct peer_channel *channel, uint8_t kind, bool want_reply);
void client_data(struct peer_channel *channel, size_t count, bool is_stderr);
void client_number(uint8_t number, const struct peer_channel *channel);
void client_adjust(const struct peer_channel *channel, uint32_t more);
void client_global(uint8_t kind);
void client_transport(uint8_t kind, uint8_t argument);
void client_log_in(uint8_t kind);
void client_rekey(uint8_t kind);

/* ---- the judges ------------------------------------------------------------------------------ */

struct peer_channel *channel_by_number(uint32_t number);
struct peer_channel *channel_by_slot(uint32_t slot);
void expect_reply(uint8_t number, uint32_t value, uint32_t slot, uint32_t digest);
void forget_replies(uint32_t number);
void judge_fields(const uint8_t *payload, size_t payload_bytes);
void judge_message(const uint8_t *payload, size_t payload_bytes, uint32_t sequence);
void judge_done(void);
void listen_message(const uint8_t *payload, size_t payload_bytes);
void wire_written(const uint8_t *bytes, size_t count);
void wire_sealed(const uint8_t *payload, size_t payload_bytes);
void wire_end(void);
void invariants_hold(void);
void invariants_at_rest(void);

/* ---- script.c, ending.c ---------------------------------------------------------------------- */

/* Plays operations up to the next turn of the product. False if none are left. */
bool script_turn(void);
/* What the world does when the script is over and the product waits for `timeout_ms`. False if it
 * has ended already. */
void ending_turn(uint64_t timeout_ms);

#endif
