/* Attacks that break a rule, with the end that the connection must have. */
#include "hostile.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* For an answer that must not come. */
#define REPLAY_MS 5000
#define SOON_MS   50

/* ---- what must end the connection ------------------------------------------------------------ */

void send_wrong_size(struct attack *attack)
{
    static const uint32_t types[] = {IPC_SIGN,  IPC_PROVE, IPC_NOTE,   IPC_END,
                                     IPC_SPAWN, IPC_PTY,   IPC_SIGNAL, IPC_RELEASE};
    log_in(attack);
    make_any(attack, types[dice_below(&attack->dice, sizeof(types) / sizeof(types[0]))]);
    size_t right = attack->bytes;
    uint32_t more = 1 + dice_below(&attack->dice, dice_one_in(&attack->dice, 2) ? 8 : 60000);
    bool shorter = dice_one_in(&attack->dice, 2) && right > 5;
    attack->bytes = shorter ? 4 + dice_below(&attack->dice, (uint32_t)right - 4) : right + more;
    attack_expect_end(attack, side_of(attack->message.type), "request of a wrong size");
}

void lie_about_a_tail(struct attack *attack)
{
    static const uint32_t lies[] = {1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    uint32_t lie = lies[dice_below(&attack->dice, sizeof(lies) / sizeof(lies[0]))];
    exchange_keys(attack);
    switch (dice_below(&attack->dice, 4)) {
    case 0:
        make_note(attack, "text");
        attack->message.note.text_bytes += lie;
        break;
    case 1:
        make_auth(attack, IPC_AUTH_PROBE, &attack->world->listed, "alice");
        attack->message.auth.blob_bytes += lie;
        break;
    case 2:
        make_sign(attack, true);
        attack->message.sign.client_kexinit_bytes += lie;
        break;
    default:
        make_sign(attack, false);
        attack->message.sign.client_version_bytes += lie;
        attack->message.sign.server_kexinit_bytes -= lie - 1;
    }
    attack_expect_end(attack, TO_MONITOR, "request of a wrong size");
}

void send_to_the_other_process(struct attack *attack)
{
    uint32_t type = 1 + dice_below(&attack->dice, IPC_TYPES - 1);
    log_in(attack);
    make_any(attack, type);
    /* A long command exceeds every request to the monitor. */
    attack_expect_end(attack, side_of(type) == TO_MONITOR ? TO_SESSION : TO_MONITOR,
                      attack->bytes > IPC_MONITOR_REQUEST_BYTES ? "request of a wrong size"
                                                                : "request of an unknown type");
}

void send_at_the_wrong_time(struct attack *attack)
{
    static const unsigned phases[] = {MONITOR_START, MONITOR_BEFORE_LOGIN, MONITOR_BEFORE_LOGIN,
                                      MONITOR_AFTER_LOGIN}; /* the monitor's after each stage */
    uint32_t stage, type;
    do {
        stage = dice_below(&attack->dice, sizeof(phases) / sizeof(phases[0]));
        type = 1 + dice_below(&attack->dice, IPC_PTY - 1);
    } while (may_come(type, phases[stage]));
    advance_to(attack, stage);
    make_any(attack, type);
    attack_expect_end(attack, TO_MONITOR, "request at the wrong time");
}

void pass_descriptors(struct attack *attack)
{
    static const uint32_t types[] = {IPC_SIGN, IPC_NOTE, IPC_END, IPC_PTY, IPC_SPAWN, IPC_RELEASE};
    int passed[MOST_DESCRIPTORS];
    unsigned count = 1 + dice_below(&attack->dice, MOST_DESCRIPTORS);
    log_in(attack);
    for (unsigned i = 0; i < count; i++) {
        passed[i] = dice_one_in(&attack->dice, 2) ? attack->sockets[dice_below(&attack->dice, 2)]
                                                  : STDIN_FILENO;
    }
    make_any(attack, types[dice_below(&attack->dice, sizeof(types) / sizeof(types[0]))]);
    enum side side = side_of(attack->message.type);
    attack->record->status = 111;
    snprintf(attack->record->reason, RECORD_TEXT_BYTES, "request of a wrong size");
    attack_send_with(attack, side, passed, count);
    attack_wait_for_kill(attack);
}

void break_a_session_rule(struct attack *attack)
{
    uint32_t channel = LIMIT_CHANNELS + dice_below(&attack->dice, 8);
    log_in(attack);
    switch (dice_below(&attack->dice, 6)) {
    case 0:
        make_any(attack, IPC_PTY + dice_below(&attack->dice, 4));
        attack->message.pty.channel = channel; /* the same offset in all of them */
        attack_expect_end(
            attack, TO_SESSION,
            attack->message.type == IPC_SIGNAL ? "" : "session request for a channel out of range");
    case 1:
        make_pty(attack, 1);
        attack_request(attack, TO_SESSION);
        attack_expect_end(attack, TO_SESSION, "terminal for a session that has begun");
    case 2:
        make_spawn(attack, 1, IPC_SESSION_EXEC, "cat");
        attack_request(attack, TO_SESSION);
        attack_expect_end(attack, TO_SESSION, "second program for a session");
    case 3:
        make_spawn(attack, 1, IPC_SESSION_SHELL, "cat");
        attack_expect_end(attack, TO_SESSION, "shell with a command");
    case 4:
        make_spawn(attack, 1, IPC_SESSION_EXEC, "cat");
        memcpy(attack->message.raw + sizeof(struct ipc_spawn), "PATH", 4);
        attack_expect_end(attack, TO_SESSION, "environment that a client may not set");
    default:
        make_signal(attack, 1, SIGSTOP);
        attack_expect_end(attack, TO_SESSION, "signal that RFC 4254 does not name");
    }
}

/* ---- logins ---------------------------------------------------------------------------------- */

static void corrupt(struct attack *attack)
{
    struct ipc_auth *auth = &attack->message.auth;
    struct key forged;
    switch (dice_below(&attack->dice, 8)) {
    case 0:
        auth->signature[dice_below(&attack->dice, 64)] ^=
            (uint8_t)(1U << dice_below(&attack->dice, 8));
        break;
    case 1:
        snprintf(auth->user, sizeof(auth->user), "root");
        break;
    case 2:
        auth->hostbound = 1;
        break;
    case 3:
        auth->key_type = IPC_KEY_SK_ED25519 + dice_below(&attack->dice, 3);
        break;
    case 4: /* the unlisted key's signature with the listed key's blob */
        make_auth(attack, IPC_AUTH_SIGNED, &attack->world->unlisted, "alice");
        memcpy(attack->message.raw + sizeof(*auth), attack->world->listed.blob,
               sizeof(attack->world->listed.blob));
        break;
    case 5: /* the listed key's signature with another blob */
        forged = attack->world->listed;
        forged.blob[HOSTKEY_BLOB_BYTES - 1] ^= 1;
        make_auth(attack, IPC_AUTH_SIGNED, &forged, "alice");
        break;
    case 6: /* what opens a server with -N */
        make_keyless(attack, "alice");
        break;
    default:
        attack->message.raw[sizeof(*auth) + dice_below(&attack->dice, HOSTKEY_BLOB_BYTES)] ^= 1;
    }
}

/* Uses all attempts, half of them after a probe with the listed key, whose result the monitor
 * reuses. */
void forge(struct attack *attack)
{
    exchange_keys(attack);
    for (int i = 0; i < LIMIT_ATTEMPTS; i++) {
        if (dice_one_in(&attack->dice, 2)) {
            make_auth(attack, IPC_AUTH_PROBE, &attack->world->listed, "alice");
            attack_request(attack, TO_MONITOR);
        }
        make_auth(attack, IPC_AUTH_SIGNED, &attack->world->listed, "alice");
        corrupt(attack);
        attack_request(attack, TO_MONITOR);
    }
    make_auth(attack, IPC_AUTH_SIGNED, &attack->world->listed, "alice");
    attack->record->signed_properly = false;
    attack_expect_end(attack, TO_MONITOR, "login request after the last attempt");
}

/* With -N: whichever name and key the attacker sends, it gets alice, and her forced command. */
void enter_without_a_key(struct attack *attack)
{
    struct ipc_exit ended;
    exchange_keys(attack);
    if (dice_one_in(&attack->dice, 2)) {
        make_keyless(attack, dice_one_in(&attack->dice, 2) ? "root" : "");
    } else {
        make_auth(attack, IPC_AUTH_SIGNED, &attack->world->unlisted, "root");
        corrupt(attack);
    }
    attack_request(attack, TO_MONITOR);
    if (!attack->record->logged_in) {
        report_violation(attack, "refused in spite of -N");
    }
    make_spawn(attack, 0, IPC_SESSION_EXEC, "exit 1");
    attack_request(attack, TO_SESSION);
    await_program(attack, &ended);
    if (ended.signaled != 0 || ended.status != 7) {
        report_violation(attack, "status %u in place of the forced command's", ended.status);
    }
}

/* A signature for the session identifier of another connection. */
void replay_signature(struct attack *attack)
{
    uint8_t kept[64];
    exchange_keys(attack);
    memcpy(kept, attack->session_id, sizeof(kept));
    attack->session_id[dice_below(&attack->dice, (uint32_t)attack->session_id_bytes)] ^= 1;
    make_auth(attack, IPC_AUTH_SIGNED, &attack->world->listed, "alice");
    memcpy(attack->session_id, kept, sizeof(kept));
    attack_request(attack, TO_MONITOR);
}

static void load(struct attack *attack, const uint8_t *request, size_t bytes)
{
    memcpy(attack->message.raw, request, bytes);
    attack->bytes = bytes;
}

/* The whole requests of an earlier connection that has logged in. */
void replay_login(struct attack *attack)
{
    const struct recording *login = &attack->record->login;
    if (login->auth_bytes == 0) {
        log_in(attack); /* for the next time */
        return;
    }
    start(attack);
    attack->record->status = 111;
    snprintf(attack->record->reason, RECORD_TEXT_BYTES,
             "first key exchange with the cookie of another connection");
    load(attack, login->sign, login->sign_bytes);
    attack_send(attack, TO_MONITOR);
    if (attack_receive(attack, TO_MONITOR, REPLAY_MS)) {
        report_violation(attack, "a recorded key exchange was signed again");
        load(attack, login->auth, login->auth_bytes);
        attack_request(attack, TO_MONITOR);
    }
    attack_wait_for_kill(attack);
}

/* Two requests at once, of which each is one that the monitor accepts. */
void log_in_twice(struct attack *attack)
{
    exchange_keys(attack);
    make_auth(attack, IPC_AUTH_SIGNED, &attack->world->listed, "alice");
    attack_send(attack, TO_MONITOR);
    attack_expect_end(attack, TO_MONITOR, "request at the wrong time");
}

/* The right signature gets no session, however often, and a wrong one learns nothing. */
void enter_a_full_server(struct attack *attack)
{
    exchange_keys(attack);
    for (uint32_t i = 1 + dice_below(&attack->dice, 6); i > 0; i--) {
        if (dice_one_in(&attack->dice, 2)) {
            make_auth(attack, IPC_AUTH_PROBE, &attack->world->listed, "alice");
            attack_request(attack, TO_MONITOR);
        }
        make_auth(attack, IPC_AUTH_SIGNED, &attack->world->listed, "alice");
        attack_request(attack, TO_MONITOR);
        if (attack->reply.auth.verdict != IPC_VERDICT_FULL) {
            report_violation(attack, "verdict %u of a full server", attack->reply.auth.verdict);
        }
    }
    make_auth(attack, IPC_AUTH_SIGNED, &attack->world->listed, "alice");
    corrupt(attack);
    attack_request(attack, TO_MONITOR);
    make_spawn(attack, 0, IPC_SESSION_EXEC, "exit 7");
    if (attack_send(attack, TO_SESSION) && attack_receive(attack, TO_SESSION, SOON_MS)) {
        report_violation(attack, "a session without a login");
    }
    make_prove(attack);
    attack_expect_end(attack, TO_MONITOR, "request at the wrong time");
}

/* With the listed key, or to find out who has listed another. */
void probe_for_ever(struct attack *attack)
{
    bool listed = dice_one_in(&attack->dice, 2);
    exchange_keys(attack);
    for (unsigned i = 0; i < (listed ? LIMIT_AUTH_REQUESTS : LIMIT_REFUSED_PROBES); i++) {
        make_auth(attack, IPC_AUTH_PROBE,
                  listed ? &attack->world->listed : &attack->world->unlisted,
                  listed || dice_one_in(&attack->dice, 2) ? "alice" : "root");
        attack_request(attack, TO_MONITOR);
    }
    make_auth(attack, IPC_AUTH_PROBE, &attack->world->listed, "alice");
    attack_expect_end(attack, TO_MONITOR,
                      listed ? "too many login requests" : "login request after the last attempt");
}

void sign_for_ever(struct attack *attack)
{
    start(attack);
    for (unsigned i = 0; i < LIMIT_SIGNATURES_BEFORE_LOGIN; i++) {
        make_sign(attack, i % 2 == 0);
        attack_request(attack, TO_MONITOR);
    }
    attack_expect_end(attack, TO_MONITOR, "too many key exchanges before the login");
}

/* Fewer requests than a socket's buffer holds. */
#define OUTSTANDING 60

/* ---- floods ---------------------------------------------------------------------------------- */

/* Sends until the socket's buffer is full, and reads no replies: the other process must not wait.
 */
void flood(struct attack *attack)
{
    static const uint32_t types[] = {IPC_SIGN, IPC_NOTE, IPC_SIGNAL, IPC_RELEASE};
    log_in(attack);
    make_any(attack, types[dice_below(&attack->dice, sizeof(types) / sizeof(types[0]))]);
    if (attack->message.type == IPC_RELEASE || attack->message.type == IPC_SIGNAL) {
        attack->message.release.channel = 1;
    }
    if (attack->message.type == IPC_SIGNAL) {
        attack->message.signal.number = SIGTERM;
    }
    enum side side = side_of(attack->message.type);
    attack->record->status = 111;
    snprintf(attack->record->reason, RECORD_TEXT_BYTES,
             "network process does not read its replies");
    for (int i = 0; i < PENDING_LIMIT; i++) {
        struct pollfd waiting = {.fd = attack->sockets[side], .events = POLLOUT};
        if (!attack_send(attack, side) && poll(&waiting, 1, 1000) < 1) {
            break;
        }
    }
    attack_wait_for_kill(attack);
}

/* Closes the session process's socket, which must end the connection, while there is always another
 * request for the monitor and every reply is read. */
void send_without_end(struct attack *attack)
{
    uint8_t reply[sizeof(attack->reply.raw)];
    size_t outstanding = 0;
    log_in(attack);
    make_sign(attack, false);
    close(attack->sockets[TO_SESSION]);
    close(attack->busy_pipe);
    int monitor = attack->sockets[TO_MONITOR];
    for (;;) {
        while (outstanding < OUTSTANDING &&
               send(monitor, attack->message.raw, attack->bytes, MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
            outstanding++;
        }
        while (outstanding > 0 && recv(monitor, reply, sizeof(reply), MSG_DONTWAIT) > 0) {
            outstanding--;
        }
    }
}

void start_too_many_programs(struct attack *attack)
{
    uint32_t channel = dice_below(&attack->dice, LIMIT_CHANNELS);
    log_in(attack);
    attack->keeps_descriptors = true;
    for (unsigned i = 0; i < LIMIT_CHANNELS + 4; i++) {
        make_spawn(attack, channel, IPC_SESSION_EXEC, "cat");
        attack_request(attack, TO_SESSION);
        if ((attack->reply.done.done == 1) != (i < LIMIT_CHANNELS)) {
            report_violation(attack, "program %u: done %u", i + 1, attack->reply.done.done);
        }
        make_release(attack, channel);
        attack_request(attack, TO_SESSION);
    }
}
