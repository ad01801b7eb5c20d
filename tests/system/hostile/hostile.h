/*
 * An attacker in the place of the network process, against the real monitor and session process.
 *
 * Each sequence is a connection of its own. judge.c forks the monitor, which forks the attacker as
 * its network process. attacks.c and breaches.c have the attacks. Then judge.c checks the log, the
 * exit status, and that no process is left. The seed and the sequence's number determine what a
 * sequence does.
 */
#ifndef WREN_HOSTILE_H
#define WREN_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hostkey.h"
#include "ipc.h"
#include "options.h"
#include "users.h"
#include "wire.h"

/* ---- world.c: keys, users and files of all sequences
 * ------------------------------------------------------- */

#define FOLDER_BYTES 64
#define PATH_BYTES   128

struct key {
    uint8_t public_key[32];
    uint8_t secret_key[64];
    uint8_t blob[HOSTKEY_BLOB_BYTES];
};

struct world {
    char folder[FOLDER_BYTES]; /* temporary; has all other files */
    char keydir[PATH_BYTES];
    char authkeys[PATH_BYTES];
    bool as_root;
    struct identity identity; /* the attacker's, and the monitor's after a login */
    uid_t user;               /* alice's */
    struct key listed;        /* in her authorized_keys */
    struct key unlisted;
    struct options options;
    uint64_t seed;
    double slack; /* factor for all time limits */
};

/* Both exit on an error. */
void world_make(struct world *world);
void world_remove(const struct world *world);

/* ---- reproducible random numbers ------------------------------------------------------------- */

struct dice {
    uint64_t state;
};

uint64_t dice_next(struct dice *dice);
uint32_t dice_below(struct dice *dice, uint32_t limit); /* 0 to limit - 1 */
bool dice_one_in(struct dice *dice, uint32_t count);
void dice_fill(struct dice *dice, void *out, size_t bytes);

/* ---- what the attacker reports to the judge, in shared memory -------------------------------- */

#define RECORD_TEXT_BYTES 192

/* The requests of a login, as the network process has sent them. */
struct recording {
    size_t sign_bytes, auth_bytes; /* 0: there is none yet */
    uint8_t sign[IPC_MONITOR_REQUEST_BYTES];
    uint8_t auth[IPC_MONITOR_REQUEST_BYTES];
};

struct record {
    bool signed_properly; /* it has sent a valid login request */
    bool logged_in;
    unsigned programs;
    unsigned refusals;
    /* How the connection must end; set before the attacker causes it. "" and -1 accept any end. */
    char reason[RECORD_TEXT_BYTES];
    int status;
    char violation[RECORD_TEXT_BYTES]; /* the first thing that must not happen; "" for none */
    struct recording login;            /* of an earlier sequence */
};

/* ---- attacker.c: the tools of the network process -------------------------------------------- */

enum side { TO_MONITOR, TO_SESSION, SIDES };

#define PENDING_LIMIT    4096
#define MESSAGE_BYTES    131072
#define MOST_DESCRIPTORS 16

/* A request without its reply. */
struct pending_request {
    uint32_t type;
    uint32_t stage;  /* of an AUTH request */
    bool acceptable; /* the monitor may accept it */
    bool proper;     /* it could, if there were room */
};

struct pending_queue {
    size_t first, end;
    struct pending_request requests[PENDING_LIMIT];
};

#define MESSAGE_MEMBER(type, name, ...) struct ipc_##name name;

struct attack {
    const struct world *world;
    struct record *record;
    bool anybody; /* the server has -N */
    bool full;    /* alice has all her connections */
    struct dice dice;
    int sockets[SIDES]; /* -1 once closed */
    int busy_pipe;      /* closed when the attacker has finished */
    struct pending_queue pending[SIDES];
    uint8_t cookie[SSH_COOKIE_BYTES]; /* of our KEXINIT in the first SIGN */
    size_t session_id_bytes;          /* 0 until a SIGN was answered */
    uint8_t session_id[64];
    bool keeps_descriptors; /* those that come with replies stay open */
    unsigned descriptor_count;
    int descriptors[MOST_DESCRIPTORS];
    size_t bytes; /* of the current message */
    union {
        uint8_t raw[MESSAGE_BYTES];
        uint32_t type;
        IPC_MONITOR_REQUESTS(MESSAGE_MEMBER) IPC_SESSION_REQUESTS(MESSAGE_MEMBER)
    } message;
    union {
        uint8_t raw[8192];
        uint32_t type;
        struct ipc_start_reply start;
        struct ipc_sign_reply sign;
        struct ipc_auth_reply auth;
        struct ipc_done done;
    } reply;
};

__attribute__((format(printf, 2, 3))) void report_violation(struct attack *attack,
                                                            const char *format, ...);

/* Sends the current message, with descriptors. Returns false if the other side has closed its
 * socket, or if its buffer is full. */
bool attack_send(struct attack *attack, enum side side);
bool attack_send_with(struct attack *attack, enum side side, const int *descriptors,
                      unsigned count);

/* Receives one reply and checks it. Returns false if the connection has ended or after
 * `timeout_ms`. */
bool attack_receive(struct attack *attack, enum side side, int timeout_ms);

/* Sends the message and receives its reply; a missing reply is a violation. */
void attack_request(struct attack *attack, enum side side);

/* Sends the message, which must end the connection with this reason. */
__attribute__((noreturn)) void attack_expect_end(struct attack *attack, enum side side,
                                                 const char *reason);

/* Reports that the attacker has finished, and waits until it is killed. */
__attribute__((noreturn)) void attack_wait_for_kill(struct attack *attack);

/* ---- requests.c: valid requests, and what can be wrong with them ------------------------------
 */

enum side side_of(uint32_t type);
size_t reply_bytes_of(uint32_t type);
bool may_come(uint32_t type, unsigned phase); /* to the monitor */

void make_start(struct attack *attack);
void make_sign(struct attack *attack, bool hybrid);
void make_prove(struct attack *attack);
void make_auth(struct attack *attack, uint32_t stage, const struct key *key, const char *user);
void make_keyless(struct attack *attack, const char *user);
void make_note(struct attack *attack, const char *text);
void make_end(struct attack *attack, uint32_t cause, const char *reason);
void make_pty(struct attack *attack, uint32_t channel);
void make_spawn(struct attack *attack, uint32_t channel, uint32_t kind, const char *command);
void make_signal(struct attack *attack, uint32_t channel, uint32_t number);
void make_release(struct attack *attack, uint32_t channel);

/* A random request of a type, with valid or nearly valid fields. */
void make_any(struct attack *attack, uint32_t type);

/* Changes the message at random, which may make it invalid. */
void mutate(struct attack *attack);

/* Returns true if the current message is an AUTH request that may be accepted. */
bool is_login_valid(const struct attack *attack);

/* ---- steps.c: what several attacks have in common
 * ------------------------------------------------- */

/* The steps of a good connection. If one fails, that is a violation. */
void start(struct attack *attack);
void exchange_keys(struct attack *attack);
void log_in(struct attack *attack);

/* 0: does nothing, 1: start(), 2: exchange_keys(), 3 and more: log_in(). */
void advance_to(struct attack *attack, uint32_t stage);

/* Runs a program, with a terminal or without, to its end and releases its channel. */
void run_program(struct attack *attack, uint32_t channel, bool terminal);

/* Reads the exit of the program whose start was answered last. */
void await_program(struct attack *attack, struct ipc_exit *ended);

/* Releases the channel while its program runs, then ends the program. */
void release_early(struct attack *attack, uint32_t channel);

/* Makes an END request; the connection must end with its cause and reason. */
void expect_end(struct attack *attack, uint32_t cause, const char *reason);

/* Sends a random request, sometimes an invalid one, sometimes to the wrong process; sometimes waits
 * for its reply. */
void send_any(struct attack *attack);
void read_replies(struct attack *attack);

/* ---- breaches.c: attacks with a known end -----------------------------------------------------
 */

void send_wrong_size(struct attack *attack);
void lie_about_a_tail(struct attack *attack);
void send_to_the_other_process(struct attack *attack);
void send_at_the_wrong_time(struct attack *attack);
void pass_descriptors(struct attack *attack);
void break_a_session_rule(struct attack *attack);
void forge(struct attack *attack);
void enter_without_a_key(struct attack *attack);
void replay_signature(struct attack *attack);
void replay_login(struct attack *attack);
void log_in_twice(struct attack *attack);
void enter_a_full_server(struct attack *attack);
void probe_for_ever(struct attack *attack);
void sign_for_ever(struct attack *attack);
void send_without_end(struct attack *attack);
void flood(struct attack *attack);
void start_too_many_programs(struct attack *attack);

/* ---- attacks.c ------------------------------------------------------------------------------- */

struct kind {
    const char *name;
    void (*run)(struct attack *attack);
    unsigned weight;        /* how often it occurs in a round */
    unsigned login_seconds; /* 0 for a minute */
    bool anybody;           /* the server has -N alice */
    bool full;              /* alice has all her connections */
};

/* The kind of a sequence. */
const struct kind *attack_kind(uint64_t index);

/* The attacker from its start to its exit. */
__attribute__((noreturn)) void attack_run(struct attack *attack, const struct kind *kind);

/* ---- table.c: the table of connections ------------------------------------------------------- */

/* Makes one, or exits. If it is full, this process holds all records, which are alice's. */
int table_make(const struct world *world, bool full);

/* After the connection: NULL, or what is wrong. Each login has its record, nobody else has one, and
 * no lock outlives its connection. */
const char *table_judge(const struct world *world, int table, bool full, unsigned logins,
                        bool signed_properly);

/* ---- judge.c --------------------------------------------------------------------------------- */

struct tally {
    unsigned sequences, failures, logins, programs, refusals;
};

/* Runs one sequence. Returns false after reporting on stderr what was wrong. */
bool judge_sequence(const struct world *world, uint64_t index, struct record *record);

#endif
