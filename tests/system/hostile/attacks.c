/* The table of all attacks, and the attacks without a known end. */
#include "hostile.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- good connections ------------------------------------------------------------------------ */

/* Nothing hostile: shows that a good connection passes the judge. */
static void behave(struct attack *attack)
{
    log_in(attack);
    for (uint32_t i = dice_below(&attack->dice, 4); i > 0; i--) {
        run_program(attack, dice_below(&attack->dice, LIMIT_CHANNELS),
                    dice_one_in(&attack->dice, 3));
    }
    expect_end(attack, 1 + dice_below(&attack->dice, 2), "all was well");
    attack_send(attack, TO_MONITOR);
    _exit(0);
}

/* So many programs that the session process would run out of descriptors if it leaked them. */
static void spawn_and_release(struct attack *attack)
{
    log_in(attack);
    for (int i = 0; i < 120; i++) {
        uint32_t channel = dice_below(&attack->dice, LIMIT_CHANNELS);
        if (i % 2 == 0) {
            run_program(attack, channel, i % 4 == 0);
        } else {
            release_early(attack, channel);
        }
    }
}

/* ---- random requests ------------------------------------------------------------------------- */

static void send_random_requests(struct attack *attack)
{
    advance_to(attack, dice_below(&attack->dice, 8));
    for (uint32_t i = 1 + dice_below(&attack->dice, 20); i > 0; i--) {
        send_any(attack);
    }
    read_replies(attack);
}

/* Sends to each process while the other's replies are pending. */
static void send_to_both_at_once(struct attack *attack)
{
    static const uint32_t to_session[] = {IPC_PTY, IPC_SPAWN, IPC_SIGNAL, IPC_RELEASE};
    log_in(attack);
    for (uint32_t i = 1 + dice_below(&attack->dice, 30); i > 0; i--) {
        make_any(attack, dice_one_in(&attack->dice, 2) ? IPC_NOTE : IPC_SIGN);
        attack_send(attack, TO_MONITOR);
        make_any(attack, to_session[dice_below(&attack->dice, 4)]);
        attack_send(attack, TO_SESSION);
    }
    read_replies(attack);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void go_on_after_the_end(struct attack *attack)
{
    advance_to(attack, dice_below(&attack->dice, 4));
    expect_end(attack, 1 + dice_below(&attack->dice, 2), "the first reason");
    attack_send(attack, TO_MONITOR);
    for (uint32_t i = dice_below(&attack->dice, 10); i > 0; i--) {
        send_any(attack);
    }
}

static void ignore_the_end(struct attack *attack)
{
    advance_to(attack, dice_below(&attack->dice, 4));
    expect_end(attack, 1 + dice_below(&attack->dice, 2), "the first reason");
    attack_send(attack, TO_MONITOR);
    attack_wait_for_kill(attack);
}

static void close_a_side(struct attack *attack)
{
    enum side side = dice_one_in(&attack->dice, 2) ? TO_MONITOR : TO_SESSION;
    log_in(attack);
    if (dice_one_in(&attack->dice, 2)) {
        run_program(attack, 0, dice_one_in(&attack->dice, 2));
    }
    for (uint32_t i = dice_below(&attack->dice, 3); i > 0; i--) {
        send_any(attack);
    }
    switch (dice_below(&attack->dice, 3)) {
    case 0:
        close(attack->sockets[side]);
        break;
    case 1:
        shutdown(attack->sockets[side], SHUT_WR);
        break;
    default:
        shutdown(attack->sockets[side], SHUT_RDWR);
    }
    attack_wait_for_kill(attack);
}

/* It no longer reads. It may still send requests; the connection ends with its exit. */
static void stop_reading(struct attack *attack)
{
    log_in(attack);
    shutdown(attack->sockets[dice_below(&attack->dice, SIDES)], SHUT_RD);
    for (uint32_t i = dice_below(&attack->dice, 10); i > 0; i--) {
        send_any(attack);
    }
}

static void die_in_the_middle(struct attack *attack)
{
    static const int signals[] = {SIGKILL, SIGABRT, SIGSEGV, SIGSYS, SIGTERM, SIGPIPE};
    advance_to(attack, dice_below(&attack->dice, 4));
    for (uint32_t i = dice_below(&attack->dice, 3); i > 0; i--) {
        send_any(attack);
    }
    int number = signals[dice_below(&attack->dice, sizeof(signals) / sizeof(signals[0]))];
    signal(number, SIG_DFL); /* a sanitizer's runtime would report the signal */
    raise(number);
}

/* The monitor enforces the login deadline. */
static void miss_the_deadline(struct attack *attack)
{
    attack->record->status = 0;
    snprintf(attack->record->reason, RECORD_TEXT_BYTES, "login deadline of 1 s");
    advance_to(attack, dice_below(&attack->dice, 3));
    attack_wait_for_kill(attack);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct kind kinds[] = {
    {"behave", behave, 4, 0, false, false},
    {"spawn and release", spawn_and_release, 1, 0, false, false},
    {"send random requests", send_random_requests, 30, 0, false, false},
    {"send to both at once", send_to_both_at_once, 6, 0, false, false},
    {"send a wrong size", send_wrong_size, 8, 0, false, false},
    {"lie about a tail", lie_about_a_tail, 6, 0, false, false},
    {"send to the other process", send_to_the_other_process, 5, 0, false, false},
    {"send at the wrong time", send_at_the_wrong_time, 6, 0, false, false},
    {"pass descriptors", pass_descriptors, 5, 0, false, false},
    {"break a session rule", break_a_session_rule, 8, 0, false, false},
    {"forge", forge, 4, 0, false, false},
    {"replay a signature", replay_signature, 3, 0, false, false},
    {"replay a login", replay_login, 6, 0, false, false},
    {"enter without a key", enter_without_a_key, 4, 0, true, false},
    {"log in twice", log_in_twice, 3, 0, false, false},
    {"enter a full server", enter_a_full_server, 4, 0, false, true},
    {"random requests, full server", send_random_requests, 5, 0, false, true},
    {"probe for ever", probe_for_ever, 1, 0, false, false},
    {"sign for ever", sign_for_ever, 1, 0, false, false},
    {"flood", flood, 3, 0, false, false},
    {"send without end", send_without_end, 1, 0, false, false},
    {"start too many programs", start_too_many_programs, 1, 0, false, false},
    {"go on after the end", go_on_after_the_end, 4, 0, false, false},
    {"ignore the end", ignore_the_end, 1, 0, false, false},
    {"close a side", close_a_side, 2, 0, false, false},
    {"stop reading", stop_reading, 2, 0, false, false},
    {"die in the middle", die_in_the_middle, 6, 0, false, false},
    {"miss the deadline", miss_the_deadline, 1, 1, false, false},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

const struct kind *attack_kind(uint64_t index)
{
    uint64_t round = 0;
    size_t i = 0;
    for (size_t each = 0; each < KINDS; each++) {
        round += kinds[each].weight;
    }
    /* 31 has no divisor in common with a round's length: so every kind occurs, and neighbours
     * differ. */
    for (uint64_t left = index * 31 % round; left >= kinds[i].weight; i++) {
        left -= kinds[i].weight;
    }
    return &kinds[i];
}

/* An attacker that still runs chooses at random how the connection ends. */
static void leave(struct attack *attack)
{
    switch (dice_below(&attack->dice, 4)) {
    case 0:
        make_end(attack, IPC_END_CLIENT, "the attacker's own");
        attack_send(attack, TO_MONITOR);
        break;
    case 1:
        raise(SIGKILL);
        break;
    case 2:
        close(attack->sockets[TO_MONITOR]);
        close(attack->sockets[TO_SESSION]);
        break;
    default:
        break;
    }
    _exit((int)dice_below(&attack->dice, 256));
}

void attack_run(struct attack *attack, const struct kind *kind)
{
    kind->run(attack);
    leave(attack);
    _exit(0);
}
