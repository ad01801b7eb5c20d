/* Sends requests and checks each reply. */
#include "hostile.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Enough for a reply on any machine; --slack multiplies it. */
#define REPLY_MS 20000

void report_violation(struct attack *attack, const char *format, ...)
{
    va_list arguments;
    if (attack->record->violation[0] == '\0') {
        va_start(arguments, format);
        vsnprintf(attack->record->violation, RECORD_TEXT_BYTES, format, arguments);
        va_end(arguments);
    }
}

/* ---- sending --------------------------------------------------------------------------------- */

static void remember(struct attack *attack, enum side side, bool acceptable)
{
    struct pending_queue *pending = &attack->pending[side];
    struct pending_request *request = &pending->requests[pending->end++ % PENDING_LIMIT];
    memset(request, 0, sizeof(*request));
    if (attack->bytes >= sizeof(request->type)) {
        request->type = attack->message.type;
    }
    if (request->type == IPC_AUTH && attack->bytes >= sizeof(struct ipc_auth)) {
        request->stage = attack->message.auth.stage;
    }
    request->proper = acceptable;
    acceptable = acceptable && !(attack->full && request->stage == IPC_AUTH_SIGNED);
    request->acceptable = acceptable;
    if (acceptable && request->stage == IPC_AUTH_SIGNED) {
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
    if (attack->pending[side].end - attack->pending[side].first == PENDING_LIMIT) {
        return false;
    }
    /* Before sending: the judge may see the login before sendmsg() returns. */
    remember(attack, side, count == 0 && is_login_valid(attack));
    if (sendmsg(attack->sockets[side], &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        attack->pending[side].end--;
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
    for (unsigned i = 0; i < attack->descriptor_count && !attack->keeps_descriptors; i++) {
        close(attack->descriptors[i]);
    }
    attack->descriptor_count = 0;
}

static void take_descriptors(struct attack *attack, struct msghdr *message)
{
    struct cmsghdr *control = CMSG_FIRSTHDR(message);
    if (control != NULL && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS) {
        attack->descriptor_count = (unsigned)((control->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(attack->descriptors, CMSG_DATA(control), attack->descriptor_count * sizeof(int));
    }
}

/* Only replies for a terminal or a program have descriptors, with the number that ipc.h requires.
 */
static void check_descriptors(struct attack *attack, const struct pending_request *request)
{
    bool done = attack->reply.done.done == 1;
    unsigned count = attack->descriptor_count;
    bool right = request->type == IPC_PTY ? count == (done ? 1 : 0)
                 : request->type == IPC_SPAWN
                     ? (done ? count == 1 || count == IPC_REPLY_DESCRIPTORS : count == 0)
                     : count == 0;
    if (!right) {
        report_violation(attack, "%u descriptors came with a reply of type %u, done %u", count,
                         request->type, attack->reply.done.done);
    }
    if (request->type == IPC_SPAWN && done) {
        attack->record->programs++;
    }
}

static void check_verdict(struct attack *attack, const struct pending_request *request)
{
    const uint32_t verdict = attack->reply.auth.verdict;
    const bool accepted = verdict == IPC_VERDICT_ACCEPTED;
    const bool may_be_full = attack->full && request->proper && request->stage == IPC_AUTH_SIGNED;
    if (verdict > IPC_VERDICT_FULL || (verdict == IPC_VERDICT_FULL && !may_be_full)) {
        report_violation(attack, "verdict %u, stage %u", verdict, request->stage);
    }
    if (accepted && !request->acceptable) {
        report_violation(attack, "accepted, stage %u, without the listed key%s", request->stage,
                         request->stage == IPC_AUTH_SIGNED ? "'s signature" : "");
    }
    if (accepted && request->stage == IPC_AUTH_SIGNED) {
        attack->record->logged_in = true;
    }
    attack->record->refusals += accepted ? 0 : 1;
}

static void check_reply(struct attack *attack, enum side side, size_t bytes)
{
    struct pending_queue *pending = &attack->pending[side];
    if (pending->first == pending->end) {
        report_violation(attack, "a reply without a request");
        return;
    }
    const struct pending_request *request = &pending->requests[pending->first++ % PENDING_LIMIT];
    if (attack->reply.type != request->type || bytes != reply_bytes_of(request->type)) {
        report_violation(attack, "%zu bytes of type %u in reply to type %u", bytes,
                         attack->reply.type, request->type);
        return;
    }
    check_descriptors(attack, request);
    if (request->type == IPC_AUTH) {
        check_verdict(attack, request);
    } else if (request->type == IPC_SIGN && attack->session_id_bytes == 0) {
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

void attack_request(struct attack *attack, enum side side)
{
    if (!attack_send(attack, side) ||
        !attack_receive(attack, side, (int)(REPLY_MS * attack->world->slack))) {
        report_violation(attack, "no reply to a good request of type %u", attack->message.type);
        _exit(1);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

void attack_wait_for_kill(struct attack *attack)
{
    close(attack->busy_pipe);
    for (;;) {
        pause();
    }
}

void attack_expect_end(struct attack *attack, enum side side, const char *reason)
{
    attack->record->status = 111;
    snprintf(attack->record->reason, RECORD_TEXT_BYTES, "%s", reason);
    attack_send(attack, side);
    attack_wait_for_kill(attack);
}
