#include "monitor_model.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "agree.h"
#include "fuzz.h"
#include "log.h"
#include "process.h"
#include "simulation.h"
#include "ssh_client.h"

#define HYBRID_CLIENT AGREE_HYBRID_CLIENT_BYTES
#define HYBRID_SERVER AGREE_HYBRID_SERVER_BYTES
#define BANNER        "SSH-2.0-wrenssh_" WREN_VERSION

void model_signature(uint8_t out[static 64], const uint8_t *data, size_t bytes,
                     const uint8_t public_key[static 32])
{
    crypto_generichash(out, 64, data, bytes, public_key, 32);
}

/* ---- key exchanges --------------------------------------------------------------------------- */

static void put_k_s(struct fields *fields, const struct model *model, bool certified)
{
    if (certified) {
        fields_string(fields, model->key.certificate, model->key.certificate_bytes);
    } else {
        fields_put(fields, "k", model->key.first.public_key);
    }
}

static size_t make_hash(const struct model *model, const struct ipc_sign *sign, const uint8_t *tail,
                        uint8_t out[static 64])
{
    static uint8_t bytes[IPC_MONITOR_REQUEST_BYTES + 4096];
    struct fields hashed = FIELDS_IN(bytes);
    const uint8_t *i_c = tail + sign->client_version_bytes;
    const uint8_t *i_s = i_c + sign->client_kexinit_bytes;
    const uint8_t *q_c = i_s + sign->server_kexinit_bytes;
    size_t q_c_bytes = sign->hybrid ? HYBRID_CLIENT : 32;
    fields_put(&hashed, "dsdd", tail, (size_t)sign->client_version_bytes, BANNER, i_c,
               (size_t)sign->client_kexinit_bytes, i_s, (size_t)sign->server_kexinit_bytes);
    put_k_s(&hashed, model, sign->certified != 0);
    fields_put(&hashed, "dd", q_c, q_c_bytes, q_c + q_c_bytes,
               (size_t)(sign->hybrid ? HYBRID_SERVER : 32));
    secrets_put_k(&hashed, sign->hybrid, sign->secret);
    return secrets_hash(sign->hybrid, bytes, hashed.used, out);
}

static void expect_reply(struct model *model, const void *reply, size_t bytes)
{
    model->reply_due = true;
    model->reply_bytes = bytes;
    memcpy(model->reply, reply, bytes);
}

static bool on_sign(struct model *model, const uint8_t *bytes, size_t count)
{
    struct ipc_sign sign;
    struct ipc_sign_reply reply = {.type = IPC_SIGN};
    memcpy(&sign, bytes, sizeof(sign));
    uint64_t whole = sizeof(sign) + (uint64_t)sign.client_version_bytes +
                     sign.client_kexinit_bytes + sign.server_kexinit_bytes +
                     (sign.hybrid ? HYBRID_CLIENT + HYBRID_SERVER : 64);
    bool allowed = count == whole && sign.hybrid < 2 && sign.certified < 2 &&
                   sign.client_version_bytes <= 255 && sign.client_kexinit_bytes <= 8192 &&
                   sign.server_kexinit_bytes <= 512 &&
                   (model->phase == MODEL_AFTER_LOGIN || ++model->signatures <= 8) &&
                   (!sign.certified || model->key.certificate_bytes > 0);
    size_t before = sizeof(sign) + sign.client_version_bytes + sign.client_kexinit_bytes;
    bool fresh =
        allowed &&
        (model->session_id_bytes > 0 ||
         (sign.server_kexinit_bytes >= 17 && memcmp(bytes + before + 1, model->cookie, 16) == 0));
    if (!fresh) {
        if (allowed) {
            simulation_goal("refuses-cookie");
        }
        return false;
    }
    reply.hash_bytes = (uint32_t)make_hash(model, &sign, bytes + sizeof(sign), reply.hash);
    if (model->session_id_bytes == 0) {
        model->session_id_bytes = reply.hash_bytes;
        memcpy(model->session_id, reply.hash, 64);
        model->bound = sign.certified;
    }
    model->may_sign = true;
    model->sign_second = false;
    model->signed_bytes = reply.hash_bytes;
    memcpy(model->signed_data, reply.hash, reply.hash_bytes);
    model_signature(reply.signature, reply.hash, reply.hash_bytes, model->key.first.public_key);
    simulation_goal(sign.hybrid ? "signs-hybrid" : "signs");
    expect_reply(model, &reply, sizeof(reply));
    return true;
}

static bool on_prove(struct model *model, const uint8_t *bytes, size_t count)
{
    struct ipc_prove prove;
    struct ipc_prove_reply reply = {.type = IPC_PROVE};
    memcpy(&prove, bytes, count < sizeof(prove) ? count : sizeof(prove));
    bool allowed = count == sizeof(prove) &&
                   (prove.key == 0 || (prove.key == 1 && model->key.has_second)) &&
                   ++model->proofs[prove.key] <= 4;
    if (!allowed) {
        return false;
    }
    const uint8_t *key = prove.key ? model->key.second.public_key : model->key.first.public_key;
    struct fields data = FIELDS_IN(model->signed_data);
    fields_put(&data, "sdk", "hostkeys-prove-00@openssh.com", model->session_id,
               model->session_id_bytes, key);
    model->may_sign = true;
    model->sign_second = prove.key;
    model->signed_bytes = data.used;
    model_signature(reply.signature, data.bytes, data.used, key);
    simulation_goal(prove.key ? "proves-second" : "proves");
    expect_reply(model, &reply, sizeof(reply));
    return true;
}

static bool on_start(struct model *model, const uint8_t *bytes, size_t count)
{
    struct ipc_start start;
    struct ipc_start_reply reply = {.type = IPC_START, .has_second = model->key.has_second};
    memcpy(&start, bytes, count < sizeof(start) ? count : sizeof(start));
    uint32_t lacking = (model->as_root ? 0xbfU : 0xb8U) & ~start.layers;
    if (count != sizeof(start) || (lacking != 0 && !model->options->best_effort) ||
        (lacking & SANDBOX_UID) != 0) {
        return false;
    }
    model->phase = MODEL_BEFORE_LOGIN;
    memcpy(reply.host_public_key, model->key.first.public_key, 32);
    memcpy(reply.second_public_key, model->key.second.public_key, 32);
    reply.certificate_bytes = (uint32_t)model->key.certificate_bytes;
    memcpy(reply.certificate, model->key.certificate, model->key.certificate_bytes);
    model->look_ms = simulation_ms + 2000 + 4 * (simulation_ms - model->began_ms);
    simulation_goal("starts");
    expect_reply(model, &reply, sizeof(reply));
    return true;
}

/* ---- logins ---------------------------------------------------------------------------------- */

static const char *const names[] = {"",
                                    "ssh-ed25519",
                                    "sk-ssh-ed25519@openssh.com",
                                    "ssh-ed25519-cert-v01@openssh.com",
                                    "sk-ssh-ed25519-cert-v01@openssh.com",
                                    ""};

/* What the request's user would sign, by a second reading of RFC 4252 section 7. */
static void put_login(struct fields *data, const struct model *model, const struct ipc_auth *auth,
                      const uint8_t *blob)
{
    fields_put(data, "dbdssbsd", model->session_id, model->session_id_bytes, 50, auth->user,
               strnlen(auth->user, sizeof(auth->user)), "ssh-connection",
               auth->hostbound ? "publickey-hostbound-v00@openssh.com" : "publickey", 1,
               auth->key_type <= 5 ? names[auth->key_type] : "", blob, (size_t)auth->blob_bytes);
    if (auth->hostbound) {
        put_k_s(data, model, model->bound);
    }
}

static bool is_sk(const struct ipc_auth *auth)
{
    return auth->key_type == IPC_KEY_SK_ED25519 || auth->key_type == IPC_KEY_SK_ED25519_CERT;
}

void model_key(struct signature_key *key, const struct ipc_auth *auth, const uint8_t *blob)
{
    memset(key, 0, sizeof(*key));
    key->sk = is_sk(auth);
    crypto_generichash(key->public_key, 32, blob, auth->blob_bytes, NULL, 0);
    memset(key->application_hash, key->sk ? 0x61 : 0, sizeof(key->application_hash));
}

static void expected_signature(const struct model *model, const struct ipc_auth *auth,
                               const uint8_t *blob, const struct signature_key *key,
                               uint8_t out[static 64])
{
    static uint8_t bytes[LIMIT_KEY_BLOB_BYTES + LIMIT_HOST_CERTIFICATE_BYTES + 2048];
    struct fields data = FIELDS_IN(bytes);
    uint8_t outer[32 + 5 + 32];
    put_login(&data, model, auth, blob);
    if (!key->sk) {
        model_signature(out, bytes, data.used, key->public_key);
        return;
    }
    struct fields wrapped = FIELDS_IN(outer);
    fields_put(&wrapped, "rbu", key->application_hash, (size_t)32, auth->sk_flags,
               auth->sk_counter);
    crypto_hash_sha256(outer + wrapped.used, bytes, data.used);
    model_signature(out, outer, sizeof(outer), key->public_key);
}

void model_sign_login(const struct model *model, struct ipc_auth *auth, const uint8_t *blob)
{
    struct signature_key key;
    model_key(&key, auth, blob);
    expected_signature(model, auth, blob, &key, auth->signature);
}

static bool is_text(const char *text, size_t room)
{
    return strnlen(text, room) < room;
}

static bool on_auth(struct model *model, const uint8_t *bytes, size_t count)
{
    struct ipc_auth *auth = &model->auth;
    memcpy(auth, bytes, sizeof(*auth));
    if (count != sizeof(*auth) + (uint64_t)auth->blob_bytes || auth->blob_bytes > 8192 ||
        ++model->requests > 64) {
        return false;
    }
    bool sound = (auth->stage == IPC_AUTH_PROBE || auth->stage == IPC_AUTH_SIGNED) &&
                 auth->key_type >= 1 && auth->key_type <= 5 &&
                 (auth->key_type == 5) == (auth->blob_bytes == 0) && auth->hostbound <= 1 &&
                 auth->sk_flags <= 255 && (is_sk(auth) || (!auth->sk_flags && !auth->sk_counter)) &&
                 is_text(auth->user, sizeof(auth->user)) &&
                 is_text(auth->algorithm, sizeof(auth->algorithm));
    if (!sound || model->session_id_bytes == 0 ||
        model->refused_signatures >= model->options->attempts || model->refused_probes >= 20) {
        return false;
    }
    model->deciding = true;
    model->received_ms = simulation_ms;
    model->blob_bytes = auth->blob_bytes;
    memcpy(model->blob, bytes + sizeof(*auth), auth->blob_bytes);
    bool same = model->options->anybody == NULL && model->probed &&
                auth->stage == IPC_AUTH_SIGNED && model->probe.key_type == auth->key_type &&
                strcmp(model->probe.user, auth->user) == 0 &&
                model->probe_blob_bytes == model->blob_bytes &&
                memcmp(model->probe_blob, model->blob, model->blob_bytes) == 0;
    if (same && simulation_ms >= model->probed_ms + 1000) {
        same = false;
        simulation_goal("probe-is-old");
    }
    model->asks = !same;
    model->asked = false;
    memset(&model->answer, 0, sizeof(model->answer));
    if (same) {
        model->answer = model->probe_answer;
        simulation_goal("reuses-probe");
    }
    model->reply_due = true;
    return true;
}

static bool is_environment(const struct grant *grant)
{
    const char *at = grant->environment;
    const char *end = at + grant->environment_bytes;
    if (grant->environment_bytes > sizeof(grant->environment) || (at < end && end[-1] != '\0')) {
        return false;
    }
    for (; at < end; at += strlen(at) + 1) {
        if (at[0] == '=' || strchr(at, '=') == NULL) {
            return false;
        }
    }
    return true;
}

const char *model_user(const struct model *model)
{
    return model->options->anybody != NULL ? model->options->anybody : model->auth.user;
}

static bool is_account_let_in(const struct model *model)
{
    const struct authkeys_account *account = &model->answer.account;
    const struct account *found = &account->account;
    return model->answer.bytes >= sizeof(*account) && account->reason == ACCOUNT_GOOD &&
           is_text(found->user, sizeof(found->user)) &&
           strcmp(found->user, model_user(model)) == 0 &&
           is_text(found->home, sizeof(found->home)) &&
           is_text(found->shell, sizeof(found->shell)) && account->groups.count >= -1 &&
           account->groups.count <= 1024;
}

/* Whether the child's answer lets the user in. */
static bool is_let_in(const struct model *model)
{
    const struct grant *grant = &model->answer.verdict.grant;
    return is_account_let_in(model) &&
           model->answer.bytes == sizeof(model->answer.account) + sizeof(model->answer.verdict) &&
           model->answer.verdict.reason == AUTHKEYS_GOOD && grant->key.sk <= 1 &&
           grant->command_bytes < 4096 && strlen(grant->command) == grant->command_bytes &&
           is_environment(grant);
}

struct grant model_grant(const struct model *model)
{
    static const struct grant plain = {.flags = GRANT_PTY | GRANT_USER_RC};
    struct grant grant = model->answer.verdict.grant;
    uint32_t type = model->auth.key_type;
    if (type == IPC_KEY_ED25519 || type == IPC_KEY_SK_ED25519) {
        crypto_hash_sha256(grant.fingerprint, model->blob, model->blob_bytes);
        grant.flags &= ~(uint32_t)GRANT_CERTIFICATE;
    }
    return model->options->anybody != NULL ? plain : grant;
}

bool model_accepts(const struct model *model)
{
    const struct ipc_auth *auth = &model->auth;
    const struct grant *grant = &model->answer.verdict.grant;
    uint8_t expected[64];
    if (model->options->anybody != NULL) {
        return is_account_let_in(model);
    }
    if (auth->key_type == IPC_KEY_UNSUPPORTED || !is_let_in(model)) {
        return false;
    }
    if (auth->stage == IPC_AUTH_PROBE) {
        return true;
    }
    expected_signature(model, auth, model->blob, &grant->key, expected);
    bool touched = !is_sk(auth) || (((grant->flags & GRANT_UNTOUCHED) || (auth->sk_flags & 1)) &&
                                    (!(grant->flags & GRANT_VERIFY) || (auth->sk_flags & 4)));
    return touched && memcmp(expected, auth->signature, 64) == 0;
}

static void expect_verdict(struct model *model)
{
    struct ipc_auth_reply reply = {.type = IPC_AUTH, .verdict = IPC_VERDICT_ACCEPTED};
    const struct ipc_auth *auth = &model->auth;
    bool accepted = model_accepts(model);
    SIMULATION_CHECK(!model->asks || model->asked);
    model->probed = accepted && auth->stage == IPC_AUTH_PROBE;
    if (!accepted) {
        bool last = auth->stage == IPC_AUTH_PROBE
                        ? ++model->refused_probes >= 20
                        : ++model->refused_signatures >= model->options->attempts;
        reply.verdict = last ? 2 : 0;
        simulation_goal(reply.verdict ? "refuses-last" : "refuses");
    } else if (auth->stage == IPC_AUTH_PROBE) {
        simulation_goal("accepts-probe");
        model->probe = *auth;
        model->probed_ms = model->received_ms;
        model->probe_blob_bytes = model->blob_bytes;
        memcpy(model->probe_blob, model->blob, model->blob_bytes);
        model->probe_answer = model->answer;
    } else if (model->full) {
        reply.verdict = 3;
        simulation_goal("refuses-full");
    } else {
        SIMULATION_CHECK(model->sessions == 1 && model->confined);
        simulation_goal(model->options->anybody != NULL ? "logs-in-anybody"
                        : is_sk(auth)                   ? "logs-in-sk"
                        : auth->hostbound               ? "logs-in-hostbound"
                                                        : "logs-in");
        model->phase = MODEL_AFTER_LOGIN;
        reply.forced = (model_grant(model).flags & GRANT_FORCED) != 0;
    }
    model->deciding = false;
    expect_reply(model, &reply, sizeof(reply));
}

/* ---- the rest -------------------------------------------------------------------------------- */

static bool on_note(struct model *model, const uint8_t *bytes, size_t count)
{
    struct ipc_note note;
    const struct ipc_done reply = {.type = IPC_NOTE, .done = 1};
    memcpy(&note, bytes, sizeof(note));
    if (note.text_bytes > 255 || count != sizeof(note) + note.text_bytes || note.level < 1 ||
        note.level > 3) {
        return false;
    }
    simulation_goal("notes");
    expect_reply(model, &reply, sizeof(reply));
    return true;
}

static bool on_end(struct model *model, const uint8_t *bytes, size_t count)
{
    struct ipc_end end;
    memcpy(&end, bytes, count < sizeof(end) ? count : sizeof(end));
    if (count != sizeof(end) || (end.cause != 1 && end.cause != 2) ||
        !is_text(end.reason, sizeof(end.reason)) || !is_text(end.asked, sizeof(end.asked)) ||
        !is_text(end.client, sizeof(end.client)) || !is_text(end.offer, sizeof(end.offer))) {
        return false;
    }
    model->ended = true;
    model->end_status = end.cause == 1 ? 0 : 111;
    model->phase = MODEL_OVER;
    simulation_goal("ends");
    return true;
}

/* The phases are those of the table of ipc.h, whose second copy is in tests/unit/monitor.c. */
#define ROW(type, name, tail_bytes, phases, ...)                                                   \
    [type] = {phases, sizeof(struct ipc_##name), on_##name},

void model_request(struct model *model, const uint8_t *bytes, size_t count, bool cut)
{
    static const struct {
        unsigned phases;
        size_t bytes;
        bool (*allowed)(struct model *model, const uint8_t *bytes, size_t count);
    } rows[] = {IPC_MONITOR_REQUESTS(ROW)};
    uint32_t type = 0;
    SIMULATION_CHECK(!model->broken && !model->ended && !model->reply_due);
    memcpy(&type, bytes, count < 4 ? 0 : 4);
    bool known = !cut && count >= 4 && type >= IPC_START && type <= IPC_END;
    model->broken = !known || (rows[type].phases & 1U << model->phase) == 0 ||
                    count < rows[type].bytes || !rows[type].allowed(model, bytes, count);
    if (model->broken) {
        model->phase = MODEL_OVER;
        simulation_goal("breaks-a-rule");
    }
}

bool model_is_reply(struct model *model, const void *bytes, size_t count)
{
    if (model->broken || model->ended || !model->reply_due) {
        return false;
    }
    if (model->deciding) {
        expect_verdict(model);
    }
    model->reply_due = false;
    return !model->may_sign && count == model->reply_bytes &&
           memcmp(bytes, model->reply, count) == 0;
}
