/*
 * A network process that has been taken over, against the real monitor and session process.
 *
 * Each sequence is a connection of its own: judge.c forks the monitor, which forks the attacker as
 * its network process; attacks.c and breaches.c say what that one does; judge.c looks at what is
 * left. What a sequence does follows from the seed and the sequence's number alone.
 */
#ifndef WREN_HOSTILE_H
#define WREN_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hostkey.h"
#include "identity.h"
#include "ipc.h"
#include "options.h"

/* ---- world.c: what all sequences share ------------------------------------------------------- */

#define PLACE_BYTES 64
#define PATH_BYTES  128

struct key {
    uint8_t public_key[32];
    uint8_t secret_key[64];
    uint8_t blob[HOSTKEY_BLOB_BYTES];
};

struct world {
    char place[PLACE_BYTES]; /* a folder of our own, with all that is below */
    char keydir[PATH_BYTES];
    char authkeys[PATH_BYTES];
    bool as_root;
    struct identity identity; /* of the attacker, and of the monitor after a login */
    uid_t user;               /* alice's */
    struct key listed;        /* in her authorized_keys */
    struct key unlisted;
    struct options options;
    uint64_t seed;
    double slack; /* times what is allowed to take */
};

/* Both end the program if something goes wrong. */
void world_make(struct world *world);
void world_remove(const struct world *world);

/* ---- random numbers, the same for the same start --------------------------------------------- */

struct dice {
    uint64_t state;
};

uint64_t dice_next(struct dice *dice);
uint32_t dice_below(struct dice *dice, uint32_t limit); /* 0 to limit - 1 */
bool dice_one_in(struct dice *dice, uint32_t count);
void dice_fill(struct dice *dice, void *out, size_t bytes);

/* ---- what the attacker tells the judge, in memory that they share ---------------------------- */

#define RECORD_TEXT_BYTES 192

struct record {
    bool signed_properly; /* a request to log in that deserves it has gone out */
    bool logged_in;
    unsigned programs;
    unsigned refusals;
    /* Set before the attacker does what must end the connection so: NULL-terminated, "" for any. */
    char reason[RECORD_TEXT_BYTES];
    int status;                        /* of that end; -1 for any */
    char violation[RECORD_TEXT_BYTES]; /* what must not have happened: the first */
};

/* ---- attacker.c: the tools of the network process -------------------------------------------- */

enum side { TO_MONITOR, TO_SESSION, SIDES };

#define FACTS            4096
#define MESSAGE_BYTES    131072
#define MOST_DESCRIPTORS 16

/* A request that may be answered. */
struct fact {
    uint32_t type;
    uint32_t stage; /* of an AUTH request */
    bool deserved;  /* it may be accepted */
};

struct queue {
    size_t first, end;
    struct fact facts[FACTS];
};

struct attack {
    const struct world *world;
    struct record *record;
    struct dice dice;
    int sockets[SIDES]; /* -1 once closed */
    int leash;          /* closed when nothing more will come */
    struct queue asked[SIDES];
    size_t session_id_bytes; /* 0 until a SIGN was answered */
    uint8_t session_id[64];
    bool keeps; /* descriptors that come with replies stay open */
    unsigned got;
    int descriptors[MOST_DESCRIPTORS];
    size_t bytes; /* of the message at hand */
    union {
        uint8_t raw[MESSAGE_BYTES];
        uint32_t type;
        struct ipc_start start;
        struct ipc_sign sign;
        struct ipc_prove prove;
        struct ipc_auth auth;
        struct ipc_note note;
        struct ipc_end end;
        struct ipc_pty pty;
        struct ipc_spawn spawn;
        struct ipc_signal signal;
        struct ipc_release release;
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

__attribute__((format(printf, 2, 3))) void violate(struct attack *attack, const char *format, ...);

/* Sends the message at hand, with descriptors. False if it did not go: the other side has closed,
 * or its socket is full. */
bool attack_send(struct attack *attack, enum side side);
bool attack_send_with(struct attack *attack, enum side side, const int *descriptors,
                      unsigned count);

/* Takes one reply and checks that it may be. False if none comes: the connection is over, or
 * `timeout_ms` have passed. */
bool attack_receive(struct attack *attack, enum side side, int timeout_ms);

/* Sends the message and takes its reply, which must come. */
void attack_ask(struct attack *attack, enum side side);

/* Sends the message, which must end the connection with this reason; never returns. */
__attribute__((noreturn)) void attack_doom(struct attack *attack, enum side side,
                                           const char *reason);

/* Says that nothing more will come, and waits to be killed. */
__attribute__((noreturn)) void attack_stay(struct attack *attack);

/* ---- requests.c: requests as they should be -------------------------------------------------- */

enum side side_of(uint32_t type);

void make_start(struct attack *attack);
void make_sign(struct attack *attack, bool hybrid);
void make_prove(struct attack *attack);
void make_auth(struct attack *attack, uint32_t stage, const struct key *key, const char *user);
void make_note(struct attack *attack, const char *text);
void make_end(struct attack *attack, uint32_t cause, const char *reason);
void make_pty(struct attack *attack, uint32_t channel);
void make_spawn(struct attack *attack, uint32_t channel, uint32_t kind, const char *command);
void make_signal(struct attack *attack, uint32_t channel, uint32_t number);
void make_release(struct attack *attack, uint32_t channel);

/* Any of a type, with fields that are right or nearly so. */
void make_any(struct attack *attack, uint32_t type);

/* Does something to the message that it may not survive. */
void mutate(struct attack *attack);

/* True if the AUTH request at hand may be accepted. */
bool deserves_login(const struct attack *attack);

/* ---- steps.c: what attackers do on their way ------------------------------------------------- */

/* Each violates() if the connection does not go on. */
void start(struct attack *attack);
void exchange_keys(struct attack *attack);
void log_in(struct attack *attack);

/* 0: nothing, 1: start, 2: exchange keys, from 3 on: log in. */
void come_so_far(struct attack *attack, uint32_t how_far);

/* From its terminal, if it is to have one, to its release. */
void run_program(struct attack *attack, uint32_t channel, bool terminal);

/* Releases the channel while its program runs, then ends the program. */
void release_early(struct attack *attack, uint32_t channel);

/* Makes an END request, and has the judge expect what it says. */
void expect_end(struct attack *attack, uint32_t cause, const char *reason);

/* One request of any type, perhaps spoilt, perhaps to the wrong process; perhaps waits for a reply.
 */
void send_any(struct attack *attack);
void take_replies(struct attack *attack);

/* ---- breaches.c: attacks of which it is known how they must end ------------------------------ */

void send_wrong_size(struct attack *attack);
void lie_about_a_tail(struct attack *attack);
void ask_the_other_process(struct attack *attack);
void ask_too_early_or_late(struct attack *attack);
void pass_descriptors(struct attack *attack);
void break_a_session_rule(struct attack *attack);
void forge(struct attack *attack);
void replay(struct attack *attack);
void probe_for_ever(struct attack *attack);
void sign_for_ever(struct attack *attack);
void outtalk_the_session(struct attack *attack);
void flood(struct attack *attack);
void start_too_many_programs(struct attack *attack);

/* ---- attacks.c ------------------------------------------------------------------------------- */

struct kind {
    const char *name;
    void (*run)(struct attack *attack);
    unsigned weight;        /* how often in a round */
    unsigned login_seconds; /* 0 for many */
};

/* Which kind a sequence is of. */
const struct kind *attack_kind(uint64_t index);

/* The attacker from its start to its exit. */
__attribute__((noreturn)) void attack_run(struct attack *attack, const struct kind *kind);

/* ---- judge.c --------------------------------------------------------------------------------- */

struct tally {
    unsigned sequences, failures, logins, programs, refusals;
};

/* Runs one sequence. Returns false after saying on stderr what was wrong. */
bool judge_sequence(const struct world *world, uint64_t index, struct record *record);

#endif
