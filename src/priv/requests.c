#include "requests.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exchange.h"
#include "exits.h"
#include "log.h"
#include "sandbox_layers.h"

#define PHASES_SERVING (PHASE_BEFORE_LOGIN | PHASE_AFTER_LOGIN)
#define PHASES_ALL     (PHASE_START | PHASES_SERVING)

/* No tail of any request can be so long. */
#define TAIL_TOO_LONG SIZE_MAX

struct reply {
    size_t bytes; /* 0 for none */
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

static void reply_done(struct reply *reply, uint32_t type)
{
    reply->bytes = sizeof(reply->body.done);
    reply->body.done.type = type;
}

/* ---- transport ------------------------------------------------------------------------------- */

#define LAYER_NAMES_BYTES 96

static void name_layers(char out[static LAYER_NAMES_BYTES], uint32_t layers)
{
    static const char *const names[] = {"root",         "uid",     "groups",   "no-new-privs",
                                        "not-dumpable", "rlimits", "landlock", "seccomp"};
    size_t used = 0;
    snprintf(out, LAYER_NAMES_BYTES, "none");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if ((layers & (1U << i)) != 0) {
            int count = snprintf(out + used, LAYER_NAMES_BYTES - used, "%s%s", used > 0 ? "," : "",
                                 names[i]);
            used += (size_t)count;
        }
    }
}

static const char *on_start(struct monitor *monitor, const union request *request,
                            struct reply *reply)
{
    struct log_line line;
    char held[LAYER_NAMES_BYTES];
    char missing[LAYER_NAMES_BYTES];
    char reason[LIMIT_NOTE_BYTES + 1];
    struct ipc_start start;
    memcpy(&start, request, sizeof(start));
    uint32_t required = monitor->as_root ? SANDBOX_REQUIRED_AS_ROOT : SANDBOX_REQUIRED_AS_USER;
    uint32_t lacking = required & ~start.layers;

    name_layers(held, start.layers);
    name_layers(missing, lacking);
    if (lacking != 0 && !monitor->options->best_effort) {
        snprintf(reason, sizeof(reason), "sandbox layers missing: %s", missing);
        monitor_fail(monitor, reason);
        return NULL;
    }
    log_begin(&line, "connection");
    log_text(&line, "layers", held);
    log_text(&line, "missing", missing);
    log_end(&line, LOG_EVENT);

    monitor->phase = PHASE_BEFORE_LOGIN;
    reply->bytes = sizeof(reply->body.start);
    reply->body.start.type = IPC_START;
    exchange_tell_hostkeys(&reply->body.start, &monitor->hostkey);
    return NULL;
}

/* The session identifier keeps the length of its own hash, whatever later exchanges use. */
static void keep_session_id(struct login *login, const struct ipc_sign_reply *reply, bool certified)
{
    if (login->session_id_bytes == 0) {
        login->hostkey->bound_to_certificate = certified;
        memcpy(login->session_id, reply->hash, sizeof(login->session_id));
        login->session_id_bytes = reply->hash_bytes;
    }
}

static size_t sign_tail(const union request *request)
{
    return exchange_tail_bytes(&request->sign);
}

static const char *on_sign(struct monitor *monitor, const union request *request,
                           struct reply *reply)
{
    struct ipc_sign_reply *signed_hash = &reply->body.sign;
    if (monitor->phase == PHASE_BEFORE_LOGIN &&
        ++monitor->signatures > LIMIT_SIGNATURES_BEFORE_LOGIN) {
        return "too many key exchanges before the login";
    }
    bool certified = request->sign.certified != 0;
    if (certified && monitor->hostkey.certificate_bytes == 0) {
        return "key exchange with a host certificate that is not there";
    }
    reply->bytes = sizeof(*signed_hash);
    signed_hash->type = IPC_SIGN;
    signed_hash->hash_bytes =
        (uint32_t)exchange_hash(signed_hash->hash, &request->sign,
                                request->bytes + sizeof(request->sign), &monitor->hostkey);
    crypto_sign_detached(signed_hash->signature, NULL, signed_hash->hash, signed_hash->hash_bytes,
                         monitor->hostkey.secret_key);
    keep_session_id(&monitor->login, signed_hash, certified);
    return NULL;
}

static const char *on_prove(struct monitor *monitor, const union request *request,
                            struct reply *reply)
{
    struct ipc_prove prove;
    memcpy(&prove, request, sizeof(prove));
    if (prove.key > 1 || (prove.key == 1 && !monitor->hostkey.has_second)) {
        return "proof of a host key that is not there";
    }
    if (++monitor->proofs[prove.key] > LIMIT_HOSTKEY_PROOFS) {
        return "too many proofs of a host key";
    }
    reply->bytes = sizeof(reply->body.prove);
    reply->body.prove.type = IPC_PROVE;
    exchange_prove(reply->body.prove.signature, &monitor->hostkey, prove.key == 1,
                   monitor->login.session_id, monitor->login.session_id_bytes);
    return NULL;
}

/* ---- login ----------------------------------------------------------------------------------- */

static size_t auth_tail(const union request *request)
{
    struct ipc_auth auth;
    memcpy(&auth, request, sizeof(auth));
    return auth.blob_bytes <= LIMIT_KEY_BLOB_BYTES ? auth.blob_bytes : TAIL_TOO_LONG;
}

static const char *on_auth(struct monitor *monitor, const union request *request,
                           struct reply *reply)
{
    struct ipc_auth auth;
    memcpy(&auth, request, sizeof(auth));
    reply->bytes = sizeof(reply->body.auth);
    reply->body.auth.type = IPC_AUTH;
    const char *wrong = login_answer(&monitor->login, &auth, request->bytes + sizeof(auth),
                                     &reply->body.auth.verdict);
    if (wrong == NULL && auth.stage == IPC_AUTH_SIGNED &&
        reply->body.auth.verdict == IPC_VERDICT_ACCEPTED) {
        monitor->phase = PHASE_AFTER_LOGIN;
        reply->body.auth.forced = (monitor->login.grant.flags & GRANT_FORCED) != 0 ? 1 : 0;
        monitor->deadline_ms = INT64_MAX;
    }
    return wrong;
}

/* ---- sessions -------------------------------------------------------------------------------- */

static const char *on_pty(struct monitor *monitor, const union request *request,
                          struct reply *reply)
{
    struct ipc_pty pty;
    memcpy(&pty, request, sizeof(pty));
    reply_done(reply, IPC_PTY);
    return spawn_terminal(&monitor->sessions, &pty, &reply->body.done.done, &reply->passed);
}

static size_t spawn_tail(const union request *request)
{
    struct ipc_spawn spawn;
    memcpy(&spawn, request, sizeof(spawn));
    if (spawn.environment_bytes > LIMIT_ENVIRONMENT_BYTES ||
        spawn.command_bytes > LIMIT_COMMAND_BYTES) {
        return TAIL_TOO_LONG;
    }
    return (size_t)spawn.environment_bytes + spawn.command_bytes;
}

static const char *on_spawn(struct monitor *monitor, const union request *request,
                            struct reply *reply)
{
    struct ipc_spawn spawn;
    memcpy(&spawn, request, sizeof(spawn));
    reply_done(reply, IPC_SPAWN);
    return spawn_program(&monitor->sessions, &spawn, (const char *)request->bytes + sizeof(spawn),
                         &reply->body.done.done, &reply->passed);
}

static const char *on_signal(struct monitor *monitor, const union request *request,
                             struct reply *reply)
{
    struct ipc_signal signal;
    memcpy(&signal, request, sizeof(signal));
    reply_done(reply, IPC_SIGNAL);
    return spawn_signal(&monitor->sessions, &signal, &reply->body.done.done);
}

static const char *on_release(struct monitor *monitor, const union request *request,
                              struct reply *reply)
{
    struct ipc_release release;
    memcpy(&release, request, sizeof(release));
    reply_done(reply, IPC_RELEASE);
    return spawn_release(&monitor->sessions, &release, &reply->body.done.done);
}

/* ---- log ------------------------------------------------------------------------------------- */

static size_t note_tail(const union request *request)
{
    struct ipc_note note;
    memcpy(&note, request, sizeof(note));
    return note.text_bytes <= LIMIT_NOTE_BYTES ? note.text_bytes : TAIL_TOO_LONG;
}

static const char *on_note(struct monitor *monitor, const union request *request,
                           struct reply *reply)
{
    struct log_line line;
    struct ipc_note note;
    memcpy(&note, request, sizeof(note));
    if (note.level < LOG_EVENT || note.level > LOG_TRACE) {
        return "note of an unknown level";
    }
    /* Past the limit it is taken and dropped. */
    if (monitor->notes < LIMIT_NOTES) {
        monitor->notes++;
        log_begin(&line, "net");
        log_bytes(&line, "text", request->bytes + sizeof(note), note.text_bytes);
        log_end(&line, (enum log_level)note.level);
    }
    reply_done(reply, IPC_NOTE);
    reply->body.done.done = 1;
    return NULL;
}

static const char *on_end(struct monitor *monitor, const union request *request,
                          struct reply *reply)
{
    const struct ipc_end *end = &request->end;
    (void)reply;
    if (end->cause != IPC_END_CLIENT && end->cause != IPC_END_OURS) {
        return "end of an unknown cause";
    }
    if (memchr(end->reason, '\0', sizeof(end->reason)) == NULL) {
        return "end with a text without end";
    }
    monitor->ending.counted = true;
    monitor->ending.bytes_in = end->bytes_in;
    monitor->ending.bytes_out = end->bytes_out;
    monitor_end(monitor, end->cause == IPC_END_CLIENT ? 0 : EXIT_TROUBLE, end->reason);
    return NULL;
}

/* ---- the table ------------------------------------------------------------------------------- */

struct row {
    size_t bytes;
    size_t (*tail_bytes)(const union request *request); /* NULL: no tail */
    unsigned phases;
    const char *(*handle)(struct monitor *monitor, const union request *request,
                          struct reply *reply);
};

static const struct row table[IPC_TYPES] = {
    [IPC_START] = {sizeof(struct ipc_start), NULL, PHASE_START, on_start},
    [IPC_SIGN] = {sizeof(struct ipc_sign), sign_tail, PHASES_SERVING, on_sign},
    [IPC_PROVE] = {sizeof(struct ipc_prove), NULL, PHASE_AFTER_LOGIN, on_prove},
    [IPC_AUTH] = {sizeof(struct ipc_auth), auth_tail, PHASE_BEFORE_LOGIN, on_auth},
    [IPC_PTY] = {sizeof(struct ipc_pty), NULL, PHASE_AFTER_LOGIN, on_pty},
    [IPC_SPAWN] = {sizeof(struct ipc_spawn), spawn_tail, PHASE_AFTER_LOGIN, on_spawn},
    [IPC_SIGNAL] = {sizeof(struct ipc_signal), NULL, PHASE_AFTER_LOGIN, on_signal},
    [IPC_RELEASE] = {sizeof(struct ipc_release), NULL, PHASE_AFTER_LOGIN, on_release},
    [IPC_NOTE] = {sizeof(struct ipc_note), note_tail, PHASES_ALL, on_note},
    [IPC_END] = {sizeof(struct ipc_end), NULL, PHASES_ALL, on_end},
};

/* Returns NULL and the row, or what is wrong with a request of this size and type at this time. */
static const char *find_row(const struct row **found, const struct monitor *monitor,
                            const union request *request, size_t request_bytes)
{
    if (request_bytes < sizeof(request->type) || request->type == 0 || request->type >= IPC_TYPES) {
        return "request of an unknown type";
    }
    const struct row *row = &table[request->type];
    if ((row->phases & monitor->phase) == 0) {
        return "request at the wrong time";
    }
    if (request_bytes < row->bytes) {
        return "request of a wrong size";
    }
    size_t tail_bytes = row->tail_bytes != NULL ? row->tail_bytes(request) : 0;
    if (request_bytes - row->bytes != tail_bytes) {
        return "request of a wrong size";
    }
    *found = row;
    return NULL;
}

/* ---- in and out ------------------------------------------------------------------------------ */

static void close_passed(struct passed *passed)
{
    for (unsigned i = 0; i < passed->count; i++) {
        close(passed->descriptors[i]);
    }
    passed->count = 0;
}

/* Never waits: a network process that asks and does not read the answers would hold us past the
 * login deadline. */
static int send_reply(int ipc, struct reply *reply)
{
    struct iovec part = {&reply->body, reply->bytes};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * IPC_REPLY_DESCRIPTORS)];
    } control;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (reply->passed.count > 0) {
        size_t count = reply->passed.count * sizeof(int);
        memset(&control, 0, sizeof(control));
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = (socklen_t)CMSG_LEN(count);
        memcpy(CMSG_DATA(&control.header), reply->passed.descriptors, count);
        message.msg_control = &control;
        message.msg_controllen = (socklen_t)CMSG_SPACE(count);
    }
    ssize_t sent = sendmsg(ipc, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    close_passed(&reply->passed);
    return sent == (ssize_t)reply->bytes ? 0 : -1;
}

static void answer(struct monitor *monitor, const union request *request, size_t request_bytes)
{
    const struct row *row = NULL;
    struct reply reply;
    memset(&reply, 0, sizeof(reply));
    const char *wrong = find_row(&row, monitor, request, request_bytes);
    if (wrong == NULL) {
        wrong = row->handle(monitor, request, &reply);
    }
    if (wrong != NULL) {
        close_passed(&reply.passed);
        monitor_fail(monitor, wrong);
    } else if (monitor->phase != PHASE_OVER && send_reply(monitor->ipc, &reply) != 0 &&
               errno != EPIPE && errno != ECONNRESET) {
        /* One that is gone is no matter: its last words or its exit status tell why. */
        monitor_fail(monitor, "network process does not read its replies");
    }
}

bool requests_serve(struct monitor *monitor, union request *request)
{
    struct iovec part = {request, sizeof(*request)};
    /* No room for control data: descriptors that come along are dropped and flagged. */
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t count = recvmsg(monitor->ipc, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
        return false;
    }
    if (count < 0 && errno == ECONNRESET) {
        return true; /* it left without reading a reply; what it said before is still there */
    }
    if (count <= 0) {
        monitor->phase = PHASE_OVER;
    } else if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        monitor_fail(monitor, "request of a wrong size");
    } else {
        answer(monitor, request, (size_t)count);
        /* It may have held the secret of a key exchange. */
        sodium_memzero(request, (size_t)count);
    }
    return count > 0;
}
