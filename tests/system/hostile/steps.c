/* What several attacks have in common. */
#include "hostile.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM_MS 20000
#define SOON_MS    50

/* ---- the steps of a good connection ---------------------------------------------------------- */

void start(struct attack *attack)
{
    make_start(attack);
    attack_request(attack, TO_MONITOR);
}

void exchange_keys(struct attack *attack)
{
    start(attack);
    make_sign(attack, dice_one_in(&attack->dice, 2));
    struct recording *login = &attack->record->login;
    login->sign_bytes = attack->bytes;
    memcpy(login->sign, attack->message.raw, attack->bytes);
    login->auth_bytes = 0;
    attack_request(attack, TO_MONITOR);
}

void log_in(struct attack *attack)
{
    exchange_keys(attack);
    if (dice_one_in(&attack->dice, 2)) {
        make_auth(attack, IPC_AUTH_PROBE, &attack->world->listed, "alice");
        attack_request(attack, TO_MONITOR);
    }
    make_auth(attack, IPC_AUTH_SIGNED, &attack->world->listed, "alice");
    attack->record->login.auth_bytes = attack->bytes;
    memcpy(attack->record->login.auth, attack->message.raw, attack->bytes);
    attack_request(attack, TO_MONITOR);
    if (!attack->record->logged_in && !attack->full) {
        report_violation(attack, "refused with the listed key's signature");
    }
}

static void expect_done(struct attack *attack, const char *what)
{
    if (attack->reply.done.done != 1) {
        report_violation(attack, "%s was refused", what);
    }
}

/* Reads the program's exit from the exit pipe, the last descriptor of the reply. */
void await_program(struct attack *attack, struct ipc_exit *ended)
{
    struct pollfd waiting = {.events = POLLIN};
    memset(ended, 0xff, sizeof(*ended));
    if (attack->descriptor_count > 0) {
        waiting.fd = attack->descriptors[attack->descriptor_count - 1];
        if (poll(&waiting, 1, PROGRAM_MS) != 1 ||
            read(waiting.fd, ended, sizeof(*ended)) != sizeof(*ended)) {
            report_violation(attack, "a program's exit was not reported");
        }
    }
}

void run_program(struct attack *attack, uint32_t channel, bool terminal)
{
    struct ipc_exit ended;
    if (terminal) {
        make_pty(attack, channel);
        attack_request(attack, TO_SESSION);
        expect_done(attack, "a terminal");
    }
    make_spawn(attack, channel, IPC_SESSION_EXEC, "exit 7");
    attack_request(attack, TO_SESSION);
    expect_done(attack, "a program");
    await_program(attack, &ended);
    if (!terminal && (ended.signaled != 0 || ended.status != 7)) {
        report_violation(attack, "exit 7 came as status %u, signal %u", ended.status,
                         ended.signaled);
    }
    make_release(attack, channel);
    attack_request(attack, TO_SESSION);
    expect_done(attack, "a release");
}

void release_early(struct attack *attack, uint32_t channel)
{
    char byte;
    int output = -1;
    make_spawn(attack, channel, IPC_SESSION_EXEC, "read line");
    attack_request(attack, TO_SESSION);
    expect_done(attack, "a program");
    if (attack->descriptor_count == IPC_REPLY_DESCRIPTORS) {
        output = dup(attack->descriptors[1]);
    }
    make_release(attack, channel);
    attack_request(attack, TO_SESSION); /* which closes the program's input */
    struct pollfd waiting = {.fd = output, .events = POLLIN};
    if (poll(&waiting, 1, PROGRAM_MS) != 1 || read(output, &byte, 1) != 0) {
        report_violation(attack, "a program did not end with its input");
    }
    close(output);
}

void expect_end(struct attack *attack, uint32_t cause, const char *reason)
{
    attack->record->status = cause == IPC_END_CLIENT ? 0 : 111;
    snprintf(attack->record->reason, RECORD_TEXT_BYTES, "%s", reason);
    make_end(attack, cause, reason);
}

void advance_to(struct attack *attack, uint32_t stage)
{
    if (stage == 1) {
        start(attack);
    } else if (stage == 2) {
        exchange_keys(attack);
    } else if (stage > 2) {
        log_in(attack);
    }
}

/* ---- random requests ------------------------------------------------------------------------- */

void send_any(struct attack *attack)
{
    uint32_t type = 1 + dice_below(&attack->dice, IPC_TYPES - 1);
    enum side side = side_of(type);
    make_any(attack, type);
    if (dice_one_in(&attack->dice, 6)) {
        mutate(attack);
    }
    if (dice_one_in(&attack->dice, 30)) {
        side = side == TO_MONITOR ? TO_SESSION : TO_MONITOR;
    }
    bool sent = attack_send(attack, side);
    if (sent && dice_one_in(&attack->dice, 3)) {
        attack_receive(attack, side, dice_one_in(&attack->dice, 2) ? SOON_MS : 1000);
    }
}

void read_replies(struct attack *attack)
{
    for (int side = 0; side < SIDES; side++) {
        while (attack_receive(attack, (enum side)side, SOON_MS)) {
        }
    }
}
