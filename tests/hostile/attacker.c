/* Sends requests, and knows of each reply whether it may be. */
#include "hostile.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* How long a reply may take, on any machine. */
#define REPLY_MS 20000

void violate(struct attack *attack, const char *format, ...)
{
    va_list arguments;
    if (attack->record->violation[0] == '\0') {
        va_start(arguments, format);
        vsnprintf(attack->record->violation, RECORD_TEXT_BYTES, format, arguments);
        va_end(arguments);
    }
}

/* ---- sending --------------------------------------------------------------------------------- */

static void remember(struct attack *attack, enum side side, bool deserved)
{
    struct queue *asked = &attack->asked[side];
    struct fact *fact = &asked->facts[asked->end++ % FACTS];
    memset(fact, 0, sizeof(*fact));
    if (attack->bytes >= sizeof(fact->type)) {
        fact->type = attack->message.type;
    }
    if (fact->type == IPC_AUTH && attack->bytes >= sizeof(struct ipc_auth)) {
        fact->stage = attack->message.auth.stage;
    }
    fact->deserved = deserved;
    if (deserved && fact->stage == IPC_AUTH_SIGNED) {
        attack->record->signed_properly = true;
    }
}

bool attack_send_with(struct attack *attack, enum side side, const int *descriptors, unsigned count)
{
    struct iovec part = {attack->message.raw, attack->bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * MOST_DESCRIPTORS)];
    } control;
    memset(&control, 0, sizeof(control));
    if (count > 0) {
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(&control.header), descriptors, count * sizeof(int));
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    }
    if (attack->asked[side].end - attack->asked[side].first == FACTS) {
        return false;
    }
    /* Before it goes: the monitor may be done with it before we are back. */
    remember(attack, side, count == 0 && deserves_login(attack));
    if (sendmsg(attack->sockets[side], &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        attack->asked[side].end--;
        return false;
    }
    return true;
}

bool attack_send(struct attack *attack, enum side side)
{
    return attack_send_with(attack, side, NULL, 0);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void close_descriptors(struct attack *attack)
{
    for (unsigned i = 0; i < attack->got && !attack->keeps; i++) {
        close(attack->descriptors[i]);
    }
    attack->got = 0;
}

static void take_descriptors(struct attack *attack, struct msghdr *message)
{
    struct cmsghdr *control = CMSG_FIRSTHDR(message);
    if (control != NULL && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS) {
        attack->got = (unsigned)((control->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(attack->descriptors, CMSG_DATA(control), attack->got * sizeof(int));
    }
}

/* Only a terminal or a program that is there brings descriptors, and as many as ipc.h says. */
static void check_descriptors(struct attack *attack, const struct fact *fact)
{
    bool done = attack->reply.done.done == 1;
    unsigned got = attack->got;
    bool right = fact->type == IPC_PTY ? got == (done ? 1 : 0)
                 : fact->type == IPC_SPAWN
                     ? (done ? got == 1 || got == IPC_REPLY_DESCRIPTORS : got == 0)
                     : got == 0;
    if (!right) {
        violate(attack, "%u descriptors came with a reply of type %u, done %u", got, fact->type,
                attack->reply.done.done);
    }
    if (fact->type == IPC_SPAWN && done) {
        attack->record->programs++;
    }
}

static void check_verdict(struct attack *attack, const struct fact *fact)
{
    bool accepted = attack->reply.auth.verdict == IPC_VERDICT_ACCEPTED;
    if (accepted && !fact->deserved) {
        violate(attack, "accepted, stage %u, without the listed key%s", fact->stage,
                fact->stage == IPC_AUTH_SIGNED ? "'s signature" : "");
    }
    if (accepted && fact->stage == IPC_AUTH_SIGNED) {
        attack->record->logged_in = true;
    }
    attack->record->refusals += accepted ? 0 : 1;
}

static size_t reply_bytes(uint32_t type)
{
    return type == IPC_START   ? sizeof(struct ipc_start_reply)
           : type == IPC_SIGN  ? sizeof(struct ipc_sign_reply)
           : type == IPC_PROVE ? sizeof(struct ipc_prove_reply)
           : type == IPC_AUTH  ? sizeof(struct ipc_auth_reply)
                               : sizeof(struct ipc_done);
}

static void check_reply(struct attack *attack, enum side side, size_t bytes)
{
    struct queue *asked = &attack->asked[side];
    if (asked->first == asked->end) {
        violate(attack, "a reply that nobody has asked for");
        return;
    }
    const struct fact *fact = &asked->facts[asked->first++ % FACTS];
    if (attack->reply.type != fact->type || bytes != reply_bytes(fact->type)) {
        violate(attack, "%zu bytes of type %u in reply to type %u", bytes, attack->reply.type,
                fact->type);
        return;
    }
    check_descriptors(attack, fact);
    if (fact->type == IPC_AUTH) {
        check_verdict(attack, fact);
    } else if (fact->type == IPC_SIGN && attack->session_id_bytes == 0) {
        attack->session_id_bytes = attack->reply.sign.hash_bytes;
        memcpy(attack->session_id, attack->reply.sign.hash, sizeof(attack->session_id));
    }
}

bool attack_receive(struct attack *attack, enum side side, int timeout_ms)
{
    struct pollfd waiting = {.fd = attack->sockets[side], .events = POLLIN};
    struct iovec part = {attack->reply.raw, sizeof(attack->reply.raw)};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * MOST_DESCRIPTORS)];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    close_descriptors(attack);
    if (poll(&waiting, 1, timeout_ms) <= 0) {
        return false;
    }
    ssize_t bytes = recvmsg(attack->sockets[side], &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (bytes <= 0) {
        return false;
    }
    take_descriptors(attack, &message);
    check_reply(attack, side, (size_t)bytes);
    return true;
}

void attack_ask(struct attack *attack, enum side side)
{
    if (!attack_send(attack, side) || !attack_receive(attack, side, REPLY_MS)) {
        violate(attack, "no reply to a good request of type %u", attack->message.type);
        _exit(1);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

void attack_stay(struct attack *attack)
{
    close(attack->leash);
    for (;;) {
        pause();
    }
}

void attack_doom(struct attack *attack, enum side side, const char *reason)
{
    attack->record->status = 111;
    snprintf(attack->record->reason, RECORD_TEXT_BYTES, "%s", reason);
    attack_send(attack, side);
    attack_stay(attack);
}
