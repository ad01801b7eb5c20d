/*
 * The monitor and the session process. Each request is checked as they would check it: its size,
 * the phase it comes in, and the order of a channel's requests. The script says how it is answered.
 */
#include "world.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "base.h"

enum { SLOT_FREE, SLOT_PTY, SLOT_SPAWNED };

static enum answer answer_for_next(void)
{
    if (world.answer_next < world.answer_count) {
        return (enum answer)(world.answers[world.answer_next] % ANSWERS);
    }
    return ANSWER_YES;
}

static enum answer take_answer(void)
{
    enum answer answer = answer_for_next();
    if (world.answer_next < world.answer_count) {
        world.answer_next++;
    }
    return answer;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* The parts of the request one behind the other. */
static uint8_t request_bytes[sizeof(struct ipc_spawn) + IPC_SPAWN_TAIL_BYTES + 64];

static size_t gather(const struct msghdr *message)
{
    size_t count = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        size_t part = message->msg_iov[i].iov_len;
        FUZZ_CHECK(part <= sizeof(request_bytes) - count);
        if (part > 0) {
            memcpy(request_bytes + count, message->msg_iov[i].iov_base, part);
        }
        count += part;
    }
    return count;
}

static bool is_in(unsigned phases)
{
    return (1U << world.connection->phase & phases) != 0;
}

static void check_sign(size_t count)
{
    struct ipc_sign request;
    FUZZ_CHECK(count >= sizeof(request));
    memcpy(&request, request_bytes, sizeof(request));
    FUZZ_CHECK(is_in(1U << SSH_PHASE_ECDH | 1U << SSH_PHASE_REKEY_ECDH));
    FUZZ_CHECK(++world.signatures <= LIMIT_SIGNATURES_BEFORE_LOGIN || world.logged_in);
    FUZZ_CHECK(request.hybrid <= 1 && request.certified <= 1);
    size_t q_c = request.hybrid ? AGREE_HYBRID_CLIENT_BYTES : AGREE_X25519_BYTES;
    size_t q_s = request.hybrid ? AGREE_HYBRID_SERVER_BYTES : AGREE_X25519_BYTES;
    const uint8_t *at = request_bytes + sizeof(request);
    FUZZ_CHECK(request.client_version_bytes <= LIMIT_VERSION_LINE_BYTES);
    FUZZ_CHECK(request.client_kexinit_bytes <= LIMIT_CLIENT_KEXINIT_BYTES);
    FUZZ_CHECK(request.server_kexinit_bytes <= LIMIT_KEXINIT_BYTES);
    FUZZ_CHECK(count == sizeof(request) + request.client_version_bytes +
                            request.client_kexinit_bytes + request.server_kexinit_bytes + q_c +
                            q_s);
    FUZZ_CHECK(memcmp(request.secret, world.secrets.k, sizeof(request.secret)) == 0);
    FUZZ_CHECK(request.client_version_bytes >= 8 && memcmp(at, "SSH-", 4) == 0);
    at += request.client_version_bytes;
    FUZZ_CHECK(request.client_kexinit_bytes == world.kexinit_bytes[0]);
    FUZZ_CHECK(digest_of(at, request.client_kexinit_bytes) == world.kexinit_digest[0]);
    at += request.client_kexinit_bytes;
    FUZZ_CHECK(request.server_kexinit_bytes == world.kexinit_bytes[1]);
    FUZZ_CHECK(digest_of(at, request.server_kexinit_bytes) == world.kexinit_digest[1]);
    at += request.server_kexinit_bytes;
    FUZZ_CHECK(digest_of(at, q_c) == world.q_c_digest);
}

static void check_auth(size_t count)
{
    struct ipc_auth request;
    FUZZ_CHECK(count >= sizeof(request));
    memcpy(&request, request_bytes, sizeof(request));
    FUZZ_CHECK(is_in(1U << SSH_PHASE_AUTH));
    FUZZ_CHECK(request.stage == IPC_AUTH_PROBE || request.stage == IPC_AUTH_SIGNED);
    FUZZ_CHECK(request.key_type >= 1 && request.key_type <= IPC_KEY_UNSUPPORTED);
    FUZZ_CHECK(request.hostbound <= 1 && request.blob_bytes <= LIMIT_KEY_BLOB_BYTES);
    FUZZ_CHECK(request.key_type != IPC_KEY_UNSUPPORTED || request.blob_bytes == 0);
    FUZZ_CHECK(count == sizeof(request) + request.blob_bytes);
    FUZZ_CHECK(request.user[sizeof(request.user) - 1] == '\0');
    FUZZ_CHECK(request.algorithm[sizeof(request.algorithm) - 1] == '\0');
    world.request_signed = request.stage == IPC_AUTH_SIGNED;
}

static void check_spawn(size_t count)
{
    struct ipc_spawn request;
    FUZZ_CHECK(count >= sizeof(request));
    memcpy(&request, request_bytes, sizeof(request));
    FUZZ_CHECK(request.kind >= IPC_SESSION_SHELL && request.kind <= IPC_SESSION_SUBSYSTEM);
    FUZZ_CHECK(request.command_bytes <= LIMIT_COMMAND_BYTES);
    FUZZ_CHECK(request.environment_bytes <= LIMIT_ENVIRONMENT_BYTES);
    FUZZ_CHECK(request.environment_bytes == 0 || (!world.forced && !world.options.forced));
    FUZZ_CHECK(count == sizeof(request) + request.environment_bytes + request.command_bytes);
    FUZZ_CHECK(request.term[sizeof(request.term) - 1] == '\0');
    const uint8_t *tail = request_bytes + sizeof(request);
    FUZZ_CHECK(request.environment_bytes == 0 || tail[request.environment_bytes - 1] == '\0');
    FUZZ_CHECK(request.command_bytes == 0 ||
               memchr(tail + request.environment_bytes, 0, request.command_bytes) == NULL);
}

/* To the session process: the channel's requests come in their order. */
static void check_session(uint32_t type, size_t count)
{
    uint32_t slot;
    memcpy(&slot, request_bytes + 4, sizeof(slot));
    FUZZ_CHECK(slot < LIMIT_CHANNELS);
    world.request_slot = slot;
    uint8_t *state = &world.slot_state[slot];
    FUZZ_CHECK(world.logged_in);
    switch (type) {
    case IPC_PTY:
        FUZZ_CHECK(count == sizeof(struct ipc_pty) && *state == SLOT_FREE);
        break;
    case IPC_SPAWN:
        check_spawn(count);
        FUZZ_CHECK(*state != SLOT_SPAWNED);
        break;
    case IPC_SIGNAL: {
        struct ipc_signal request;
        FUZZ_CHECK(count == sizeof(request) && *state == SLOT_SPAWNED);
        memcpy(&request, request_bytes, sizeof(request));
        FUZZ_CHECK(request.number > 0 && request.number <= SIGTERM);
        goal_reached(GOAL_SIGNALED);
        break;
    }
    default:
        FUZZ_CHECK(type == IPC_RELEASE && count == sizeof(struct ipc_release));
        FUZZ_CHECK(*state != SLOT_FREE || world.slot_given_up[slot]);
        *state = SLOT_FREE;
    }
}

static void check_monitor(uint32_t type, size_t count)
{
    struct ipc_note note;
    struct ipc_prove prove;
    switch (type) {
    case IPC_START:
        FUZZ_CHECK(count == sizeof(struct ipc_start) && world.starts++ == 0);
        break;
    case IPC_SIGN:
        check_sign(count);
        break;
    case IPC_PROVE:
        FUZZ_CHECK(count == sizeof(prove) && world.logged_in);
        memcpy(&prove, request_bytes, sizeof(prove));
        FUZZ_CHECK(prove.key <= (world.config[1] & 1U));
        FUZZ_CHECK(++world.proofs[prove.key] <= LIMIT_HOSTKEY_PROOFS);
        break;
    case IPC_AUTH:
        check_auth(count);
        break;
    case IPC_NOTE:
        FUZZ_CHECK(count >= sizeof(note));
        memcpy(&note, request_bytes, sizeof(note));
        FUZZ_CHECK(note.text_bytes <= LIMIT_NOTE_BYTES && count == sizeof(note) + note.text_bytes);
        break;
    default:
        FUZZ_CHECK(type == IPC_END && count == sizeof(struct ipc_end));
        world.ended = true;
    }
}

SIMULATED(ssize_t, sendmsg, int fd, const struct msghdr *message, int flags)
{
    uint32_t type;
    moved();
    FUZZ_CHECK((flags & MSG_NOSIGNAL) != 0 && !world.ended && !world.replies);
    if (answer_for_next() == ANSWER_SEND_INTERRUPTED || answer_for_next() == ANSWER_SEND_FAILS) {
        errno = take_answer() == ANSWER_SEND_FAILS ? EPIPE : EINTR;
        return -1;
    }
    size_t count = gather(message);
    FUZZ_CHECK(count >= sizeof(type));
    memcpy(&type, request_bytes, sizeof(type));
    FUZZ_CHECK(type >= IPC_START && type < IPC_TYPES);
    FUZZ_CHECK(fd == (type >= IPC_PTY ? SESSION_FD : MONITOR_FD));
    FUZZ_CHECK(world.starts == 1 || type == IPC_START || type == IPC_END);
    if (type >= IPC_PTY) {
        check_session(type, count);
    } else {
        check_monitor(type, count);
    }
    world.request = type;
    world.requests = world.requests * 31 + digest_of(request_bytes, type == IPC_END ? 4 : count);
    world.replies = type != IPC_END;
    world.late = 0;
    return (ssize_t)count;
}

/* ---- replies --------------------------------------------------------------------------------- */

static union {
    uint32_t type;
    struct ipc_start_reply start;
    struct ipc_sign_reply sign;
    struct ipc_prove_reply prove;
    struct ipc_auth_reply auth;
    struct ipc_done done;
} reply;

static size_t fill_start(bool odd)
{
    struct ipc_start_reply *start = &reply.start;
    memset(start->host_public_key, 0x61, sizeof(start->host_public_key));
    memset(start->second_public_key, 0x62, sizeof(start->second_public_key));
    start->has_second = odd ? 2 : world.config[1] & 1U;
    start->certificate_bytes = (world.config[1] & 2U) != 0 ? 300 : 0;
    memset(start->certificate, 0x63, start->certificate_bytes);
    return sizeof(*start);
}

static size_t fill_sign(bool odd)
{
    struct ipc_sign_reply *sign = &reply.sign;
    bool hybrid = request_bytes[4] == 1 || request_bytes[7] == 1;
    sign->hash_bytes = odd ? 33 : hybrid ? 64 : 32;
    for (size_t i = 0; i < sign->hash_bytes; i++) {
        sign->hash[i] = (uint8_t)(world.exchanges * 67 + i);
    }
    memset(sign->signature, (int)(0x70 + world.exchanges % 8), sizeof(sign->signature));
    memcpy(world.signature, sign->signature, sizeof(sign->signature));
    if (!odd) {
        cipher_exchange(hybrid, sign->hash, sign->hash_bytes);
    }
    return sizeof(*sign);
}

static size_t fill_auth(enum answer answer)
{
    struct ipc_auth_reply *auth = &reply.auth;
    auth->verdict = answer == ANSWER_NO     ? IPC_VERDICT_REFUSED
                    : answer == ANSWER_LAST ? IPC_VERDICT_LAST
                    : answer == ANSWER_ODD  ? 77
                                            : IPC_VERDICT_ACCEPTED;
    auth->forced = answer == ANSWER_FORCED;
    world.forced = auth->forced;
    world.verdict = auth->verdict;
    return sizeof(*auth);
}

/* The descriptors of PTY and SPAWN. Returns how many go with the reply. */
static size_t grant(enum answer answer, int *fds)
{
    uint32_t slot = world.request_slot;
    bool pty = world.slot_state[slot] == SLOT_PTY;
    int index = world.slot_program[slot];
    if (world.request == IPC_PTY || !pty) {
        index = world.slot_program[slot] = program_new(slot, world.request == IPC_PTY);
    }
    world.slot_state[slot] = world.request == IPC_PTY ? SLOT_PTY : SLOT_SPAWNED;
    goal_reached(world.request == IPC_PTY ? GOAL_PTY : GOAL_SPAWNED);
    if (answer == ANSWER_CUT_OFF) {
        world.slot_given_up[slot] = true; /* it is released now, and once more with its channel */
        return 0;
    }
    int first = world.request == IPC_PTY ? STREAM_STDOUT : pty ? STREAM_EXIT : STREAM_STDIN;
    int end = world.request == IPC_PTY ? STREAM_STDERR : STREAMS;
    size_t count = 0;
    for (int i = first + (answer == ANSWER_ONE_LESS); i < end; i++) {
        program_give(index, (enum stream)i);
        fds[count++] = world.programs[index].fds[i];
    }
    if (answer == ANSWER_ONE_MORE && count < IPC_REPLY_DESCRIPTORS) {
        int more = program_new(slot, false);
        program_give(more, STREAM_STDIN);
        fds[count++] = world.programs[more].fds[STREAM_STDIN];
    }
    return count;
}

static size_t fill_done(enum answer answer, int *fds, size_t *fd_count)
{
    bool opens = world.request == IPC_PTY || world.request == IPC_SPAWN;
    bool full = world.program_count + 2 >= PROGRAMS || world.next_fd + 8 >= LAST_FD;
    bool refused = opens && world.plain_tags;
    bool done =
        !refused && answer != ANSWER_NO && answer != ANSWER_NO_WITH_DESCRIPTORS && !(opens && full);
    reply.done.done = answer == ANSWER_ODD ? 2 : done;
    if ((opens && done) || (answer == ANSWER_NO_WITH_DESCRIPTORS && !full)) {
        if (!opens) {
            int more = program_new(0, false);
            program_give(more, STREAM_STDIN);
            fds[(*fd_count)++] = world.programs[more].fds[STREAM_STDIN];
        } else if (answer != ANSWER_ODD) {
            *fd_count = grant(answer, fds);
        }
    }
    world.granted = done && answer != ANSWER_ODD ? (unsigned)*fd_count : 0;
    return sizeof(reply.done);
}

static size_t fill(enum answer answer, int *fds, size_t *fd_count)
{
    memset(&reply, 0, sizeof(reply));
    reply.type = world.request;
    switch (world.request) {
    case IPC_START:
        return fill_start(answer == ANSWER_ODD);
    case IPC_SIGN:
        return fill_sign(answer == ANSWER_ODD);
    case IPC_PROVE:
        memset(reply.prove.signature, 0x64, sizeof(reply.prove.signature));
        return sizeof(reply.prove);
    case IPC_AUTH:
        return fill_auth(answer);
    default:
        return fill_done(answer, fds, fd_count);
    }
}

static void attach(struct msghdr *message, const int *fds, size_t count)
{
    struct cmsghdr *control = CMSG_FIRSTHDR(message);
    if (count == 0) {
        message->msg_controllen = 0;
        return;
    }
    FUZZ_CHECK(message->msg_controllen >= CMSG_SPACE(count * sizeof(int)));
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(control), fds, count * sizeof(int));
    message->msg_controllen = CMSG_SPACE(count * sizeof(int));
}

/* The failures that bring no reply at all. True if this is one. */
static bool fails(enum answer answer, ssize_t *result)
{
    *result = -1;
    switch (answer) {
    case ANSWER_TOO_LATE:
        world.client.closed = true;
        errno = EAGAIN;
        return true;
    case ANSWER_CLOSED:
        *result = 0;
        return true;
    case ANSWER_RESET:
        errno = ECONNRESET;
        return true;
    default:
        return false;
    }
}

SIMULATED(ssize_t, recvmsg, int fd, struct msghdr *message, int flags)
{
    moved();
    FUZZ_CHECK(world.replies && (flags & MSG_CMSG_CLOEXEC) != 0);
    FUZZ_CHECK(fd == (world.request >= IPC_PTY ? SESSION_FD : MONITOR_FD));
    enum answer answer = answer_for_next();
    if ((answer == ANSWER_INTERRUPTED || answer == ANSWER_LATE) && world.late++ < 2) {
        errno = answer == ANSWER_LATE ? EAGAIN : EINTR;
        return -1;
    }
    take_answer();
    world.replies = false;
    ssize_t result;
    if (fails(answer, &result)) {
        return result;
    }
    int fds[IPC_REPLY_DESCRIPTORS];
    size_t fd_count = 0;
    size_t count = fill(answer, fds, &fd_count);
    if (answer == ANSWER_WRONG_TYPE) {
        reply.type ^= 1;
    }
    const struct iovec *part = &message->msg_iov[0];
    FUZZ_CHECK(message->msg_iovlen == 1);
    size_t copied = count < part->iov_len ? count : part->iov_len;
    memcpy(part->iov_base, &reply, copied);
    attach(message, fds, fd_count);
    message->msg_flags =
        (answer == ANSWER_LONG ? MSG_TRUNC : 0) | (answer == ANSWER_CUT_OFF ? MSG_CTRUNC : 0);
    return (ssize_t)copied - (answer == ANSWER_SHORT);
}
