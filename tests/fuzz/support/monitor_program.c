#include "monitor_program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "agree.h"
#include "simulation.h"

#define QUEUE 4

struct program program;

static struct request queue[QUEUE];

void program_begin(struct input input, struct options *options, bool *as_root)
{
    memset(&program, 0, sizeof(program));
    program.input = input;
    uint8_t flags = input_u8(&program.input);
    *as_root = (flags & 1) != 0;
    options->best_effort = (flags & 2) != 0;
    program.stubborn = (flags & 4) != 0;
    program.no_session = (flags & 8) != 0;
    program.session_reports = (flags & 16) != 0;
    program.keys = (flags >> 5) & 3;
    if (flags & 128) { /* -N: as an ordinary user, with -e */
        *as_root = false;
        options->anybody = "alice";
        options->forced_command = "id";
    }
    options->attempts = 1 + input_below_or_equal(&program.input, 3);
    options->login_seconds = 1 + input_below_or_equal(&program.input, 9);
    program.confine_fails = input_u8(&program.input);
    program.keys |= input_u8(&program.input) == 0xff ? 4 : 0;
}

struct request *program_take(void)
{
    static struct request taken;
    taken = queue[0];
    program.queued--;
    memmove(queue, queue + 1, program.queued * sizeof(queue[0]));
    return &taken;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void fill(uint8_t *at, size_t bytes, uint8_t seed)
{
    for (size_t i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(seed + i * (seed | 1));
    }
}

/* flags: 1 hybrid, 2 certified, 4 lengths as they come, 8 a wrong value, 16 a secret of zeros, 96
 * not the monitor's cookie. */
static size_t make_sign(const struct model *model, struct input *input, uint8_t *out)
{
    uint8_t flags = input_u8(input);
    struct ipc_sign sign = {.type = IPC_SIGN,
                            .hybrid = flags & 1,
                            .certified = (flags & 2) != 0,
                            .client_version_bytes = input_u8(input),
                            .client_kexinit_bytes = 37U * input_u8(input),
                            .server_kexinit_bytes = 1U + SSH_COOKIE_BYTES + input_u8(input)};
    if (flags & 4) {
        sign.client_version_bytes = input_u32(input);
        sign.client_kexinit_bytes = input_u32(input);
        sign.server_kexinit_bytes = input_u32(input);
    }
    sign.certified += (flags & 8) ? 2 : 0;
    uint8_t seed = input_u8(input);
    fill(sign.secret, sign.hybrid ? 64 : 32, (flags & 16) ? 0 : seed);
    memcpy(out, &sign, sizeof(sign));
    uint64_t tail = (uint64_t)sign.client_version_bytes + sign.client_kexinit_bytes +
                    sign.server_kexinit_bytes +
                    (sign.hybrid ? AGREE_HYBRID_CLIENT_BYTES + AGREE_HYBRID_SERVER_BYTES : 64);
    tail = tail < IPC_MONITOR_REQUEST_BYTES ? tail : IPC_MONITOR_REQUEST_BYTES;
    fill(out + sizeof(sign), tail, seed);
    uint64_t i_s = (uint64_t)sign.client_version_bytes + sign.client_kexinit_bytes;
    if ((flags & 96) != 96 && i_s + 1 + SSH_COOKIE_BYTES <= tail) {
        memcpy(out + sizeof(sign) + i_s + 1, model->cookie, SSH_COOKIE_BYTES);
    }
    return sizeof(sign) + tail;
}

enum signing {
    SIGN_NOTHING,
    SIGN_WELL,
    SIGN_FLIPPED,
    SIGN_OTHER_SESSION,
    SIGN_OTHER_USER,
    SIGN_OTHER_METHOD,
    SIGN_OTHER_TYPE,
    SIGN_AS_PROBED
};

static void sign_login(const struct model *model, struct ipc_auth *auth, const uint8_t *blob,
                       enum signing how)
{
    struct model other = *model;
    struct ipc_auth signed_auth = *auth;
    other.session_id[0] ^= how == SIGN_OTHER_SESSION;
    signed_auth.user[0] ^= how == SIGN_OTHER_USER;
    signed_auth.hostbound ^= how == SIGN_OTHER_METHOD;
    signed_auth.key_type = how == SIGN_OTHER_TYPE ? auth->key_type % 4 + 1 : auth->key_type;
    if (how == SIGN_NOTHING || auth->hostbound > 1 || auth->blob_bytes > LIMIT_KEY_BLOB_BYTES) {
        return;
    }
    model_sign_login(&other, &signed_auth, blob);
    memcpy(auth->signature, signed_auth.signature, sizeof(auth->signature));
    auth->signature[63] ^= how == SIGN_FLIPPED;
}

static size_t make_auth(const struct model *model, struct input *input, uint8_t *out)
{
    static const char *const users[] = {"bob", "alice", "", "root", "bob "};
    uint8_t flags = input_u8(input);
    struct ipc_auth auth = {.type = IPC_AUTH,
                            .stage = (flags & 3),
                            .key_type = (flags >> 2) & 7,
                            .hostbound = (flags & 32) != 0};
    uint8_t who = input_u8(input);
    uint8_t key = input_u8(input);
    uint8_t sk = input_u8(input);
    strcpy(auth.user, users[who % 5]);
    strcpy(auth.algorithm, (who & 8) ? "ssh-rsa" : "ssh-ed25519");
    memset(auth.user, 'u', (who & 16) ? sizeof(auth.user) : 0);
    memset(auth.algorithm, 'a', (who & 32) ? sizeof(auth.algorithm) : 0);
    auth.blob_bytes =
        auth.key_type == IPC_KEY_UNSUPPORTED ? 0 : 51U + (key & 1) + ((key & 128) ? 8139 : 0);
    auth.blob_bytes += (key & 64) ? 3 : 0;
    auth.sk_flags = auth.key_type == 2 || auth.key_type == 4 || (sk & 16) ? sk & 7 : 0;
    auth.sk_counter = auth.key_type == 2 || auth.key_type == 4 ? sk * 16777217U : 0;
    auth.sk_flags |= (sk & 8) ? 0x100 : 0;
    uint8_t *blob = out + sizeof(auth);
    size_t tail = auth.blob_bytes < 8300 ? auth.blob_bytes : 8300;
    fill(blob, tail, key & 63);
    sign_login(model, &auth, blob, (enum signing)(sk >> 5));
    memcpy(out, &auth, sizeof(auth));
    return sizeof(auth) + tail;
}

static size_t make_note(struct input *input, uint8_t *out)
{
    struct ipc_note note = {.type = IPC_NOTE};
    note.level = input_u8(input);
    note.text_bytes = input_u8(input);
    note.text_bytes += note.level & 0x80 ? 1U : 0;
    note.level &= 0x7f;
    const struct input text = input_take(input, 8);
    memcpy(out, &note, sizeof(note));
    fill(out + sizeof(note), note.text_bytes, 7);
    memcpy(out + sizeof(note), text.at, text.left < note.text_bytes ? text.left : note.text_bytes);
    return sizeof(note) + note.text_bytes;
}

static size_t make_end(struct input *input, uint8_t *out)
{
    struct ipc_end end = {.type = IPC_END, .bytes_in = 1, .bytes_out = 2};
    uint8_t cause = input_u8(input);
    end.cause = cause & 3;
    memset(end.reason, 'r', (cause & 4) ? sizeof(end.reason) : cause & 8 ? 0 : 20);
    memset(end.asked, 'a', (cause & 16) ? sizeof(end.asked) : 20);
    memset(end.client, '"', (cause & 32) ? sizeof(end.client) : 20);
    memset(end.offer, '\n', (cause & 64) ? sizeof(end.offer) : 20);
    memcpy(out, &end, sizeof(end));
    return sizeof(end);
}

static size_t make_plain(uint32_t type, uint32_t value, uint8_t *out)
{
    const uint32_t fields[2] = {type, value};
    memcpy(out, fields, sizeof(fields));
    return sizeof(fields);
}

static size_t make(const struct model *model, uint8_t kind, struct input *input, uint8_t *out)
{
    switch (kind) {
    case IPC_START:
        return make_plain(IPC_START, input_u8(input), out);
    case IPC_SIGN:
        return make_sign(model, input, out);
    case IPC_PROVE:
        return make_plain(IPC_PROVE, input_u8(input), out);
    case IPC_AUTH:
        return make_auth(model, input, out);
    case IPC_NOTE:
        return make_note(input, out);
    case IPC_END:
        return make_end(input, out);
    default: /* the session process's, and unknown ones */
        return make_plain(kind, input_u8(input), out);
    }
}

/* form: 1 one byte short, 2 one byte longer, 4 with descriptors, 8 some bytes from the input, 16
 * far longer. */
static void send_request(const struct model *model, uint8_t kind)
{
    static struct request lost;
    struct input *input = &program.input;
    struct request *request = program.queued < QUEUE ? &queue[program.queued++] : &lost;
    uint8_t form = input_u8(input);
    memset(request->data, 0, sizeof(struct ipc_auth) + 64);
    request->bytes = make(model, kind, input, request->data);
    if (form & 8) {
        size_t at = (size_t)input_u8(input) * 4 % request->bytes;
        const struct input bytes = input_take(input, input_u8(input) % 16);
        memcpy(request->data + at, bytes.at, bytes.left);
    }
    request->bytes -= (form & 1) ? 1 : 0;
    if (form & 2) {
        request->data[request->bytes++] = 0;
    }
    if (form & 16) {
        size_t bytes = IPC_MONITOR_REQUEST_BYTES + 1 + (form >> 5);
        memset(request->data + request->bytes, 0, sizeof(request->data) - request->bytes);
        request->bytes = bytes;
    }
    request->descriptors = (form & 4) != 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

struct event program_event(const struct model *model, bool serving)
{
    struct input *input = &program.input;
    while (input->left > 0) {
        uint8_t op = input_u8(input);
        uint8_t what = op & 31;
        bool high = (op & 0x80) != 0;
        if (what <= 12 && serving && !program.closed) {
            send_request(model, what);
            if (!high || program.queued == QUEUE) {
                return (struct event){EVENT_REQUEST, 0};
            }
            continue; /* at once with the next */
        }
        switch (what) {
        case 16:
            return (struct event){EVENT_TIME, 1 + input_u8(input) * (high ? 100 : 1)};
        case 17:
            return (struct event){EVENT_NETWORK, input_u8(input) << (high ? 0 : 8) & 0xff7f};
        case 18:
            return (struct event){EVENT_SESSION, input_u8(input) << (high ? 0 : 8) & 0xff7f};
        case 19:
            return (struct event){EVENT_TERM, 0};
        case 20:
            return (struct event){EVENT_ERROR, high ? ENOMEM : EINTR};
        case 21:
            program.closed = true;
            return (struct event){EVENT_CLOSE, 0};
        case 23:
            return (struct event){EVENT_EVICT, 0};
        case 24:
            return (struct event){EVENT_GONE, 0};
        case 25:
            program.crowded = true;
            program.begun = high;
            break;
        case 22:
            program.send_error = high ? EPIPE : EAGAIN;
            break;
        default:
            break;
        }
    }
    return (struct event){serving && program.queued > 0 ? EVENT_REQUEST : EVENT_OVER, 0};
}

/* ---- children -------------------------------------------------------------------------------- */

/* flags: 1 the account is refused, 2 another user's, 4 the key is not listed, 8 some bytes from the
 * input, 16 cut short, 32 no FIDO touch needed, 64 a PIN is needed, 128 a forced command. how: 1
 * hangs, 2 the network process leaves, 4 SIGTERM comes, 8 no pipe, 16 no fork, 32 in small parts,
 * 64 too many connections are logged in, 128 the user is of the group with the reserve. */
void program_answer(const struct model *model)
{
    struct input *input = &program.input;
    uint8_t flags = input_u8(input);
    uint8_t how = input_u8(input);
    static struct authkeys_account account;
    static struct authkeys_verdict verdict;
    memset(&account, 0, sizeof(account));
    memset(&verdict, 0, sizeof(verdict));
    account.reason = (flags & 1) ? ACCOUNT_UNKNOWN : ACCOUNT_GOOD;
    strncpy(account.account.user, model_user(model), sizeof(account.account.user));
    account.account.user[0] ^= (flags & 2) ? 1 : 0;
    strcpy(account.account.shell, "/bin/sh");
    account.account.uid = 1000;
    account.groups.count = 1;
    account.groups.has_reserve = how >> 7;
    verdict.reason = (flags & 4) ? AUTHKEYS_NOT_LISTED : AUTHKEYS_GOOD;
    model_key(&verdict.grant.key, &model->auth, model->blob);
    memset(verdict.grant.fingerprint, 0xee, sizeof(verdict.grant.fingerprint));
    verdict.grant.flags = GRANT_PTY | GRANT_CERTIFICATE | ((flags & 32) ? GRANT_UNTOUCHED : 0) |
                          ((flags & 64) ? GRANT_VERIFY : 0) | ((flags & 128) ? GRANT_FORCED : 0);
    memcpy(verdict.grant.environment, "A=b\0C=", 7);
    verdict.grant.environment_bytes = 7;
    memcpy(program.answer, &account, sizeof(account));
    memcpy(program.answer + sizeof(account), &verdict, sizeof(verdict));
    program.answer_bytes = ANSWER_BYTES;
    if (flags & 8) {
        size_t at = (size_t)input_u8(input) << 8;
        at = (at | input_u8(input)) % ANSWER_BYTES;
        const struct input bytes = input_take(input, input_u8(input) % 16);
        size_t count = bytes.left < ANSWER_BYTES - at ? bytes.left : ANSWER_BYTES - at;
        memcpy(program.answer + at, bytes.at, count);
    }
    if (flags & 16) {
        size_t bytes = (size_t)input_u8(input) << 8;
        program.answer_bytes = (bytes | input_u8(input)) % ANSWER_BYTES;
    }
    program.hangs = (how & 1) != 0;
    program.hangs_up = (how & 2) != 0;
    program.terminates = (how & 4) != 0;
    program.no_pipe = (how & 8) != 0;
    program.no_fork = (how & 16) != 0;
    program.full = (how & 64) != 0;
    program.answer_part = (how & 32) ? 1000 : ANSWER_BYTES;
}
