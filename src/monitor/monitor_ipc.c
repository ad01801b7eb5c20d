#include "monitor_internal.h"

#include <sodium.h>
#include <stdio.h>

#include "limit_slots.h"

/* ---- transport ------------------------------------------------------------------------------- */

bool monitor_judge_layers(char reason[static LIMIT_NOTE_BYTES + 1], const struct options *options,
                          bool as_root, uint32_t layers, bool has_table)
{
    struct log_line line;
    char held[SANDBOX_NAMES_BYTES];
    char missing[SANDBOX_NAMES_BYTES];
    uint32_t required = as_root ? SANDBOX_REQUIRED_AS_ROOT : SANDBOX_REQUIRED_AS_USER;
    uint32_t lacking = required & ~layers;
    bool still_root = (lacking & SANDBOX_UID) != 0; /* refused even with -B */

    sandbox_layers_name(held, layers);
    sandbox_layers_name(missing, lacking);
    if (still_root || (lacking != 0 && !options->best_effort)) {
        snprintf(reason, LIMIT_NOTE_BYTES + 1, "sandbox layers missing: %s", missing);
        return false;
    }
    log_begin(&line, "connection");
    log_text(&line, "layers", held);
    log_text(&line, "missing", missing);
    if (options->anybody != NULL) {
        log_text(&line, "authentication", "none");
    }
    if (!has_table) {
        log_text(&line, "admission", "none");
    }
    log_end(&line, LOG_EVENT);
    return true;
}

static const char *on_start(void *process, const void *request, struct reply *reply)
{
    struct monitor *monitor = process;
    const struct ipc_start *start = request;
    char reason[LIMIT_NOTE_BYTES + 1];
    if (!monitor_judge_layers(reason, monitor->setup->options, monitor->as_root, start->layers,
                              monitor->setup->admission->fd >= 0)) {
        ending_fail(monitor, reason);
        reply->bytes = 0;
        return NULL;
    }
    monitor->phase = MONITOR_BEFORE_LOGIN;
    const int64_t now_ms = clock_now_ms();
    monitor->greeted_ms = now_ms;
    monitor->silence_ms =
        now_ms + LIMIT_SILENT_MS + LIMIT_SILENT_SETUPS * (now_ms - monitor->started_ms);
    sign_list_keys(&reply->body.start, monitor->hostkey);
    return NULL;
}

/* The session identifier is the first exchange hash; later exchanges may use a longer or shorter
 * hash. */
static void keep_session_id(struct login *login, const struct ipc_sign *sign,
                            const struct ipc_sign_reply *reply)
{
    if (login->session_id_bytes == 0) {
        login->hostkey->bound_to_certificate = sign->certified != 0;
        login->hybrid = sign->hybrid != 0;
        memcpy(login->client, sign + 1, sign->client_version_bytes);
        memcpy(login->session_id, reply->hash, sizeof(login->session_id));
        login->session_id_bytes = reply->hash_bytes;
    }
}

static const char *on_sign(void *process, const void *request, struct reply *reply)
{
    struct monitor *monitor = process;
    const struct ipc_sign *sign = request;
    const uint8_t *tail = (const uint8_t *)(sign + 1);
    struct ipc_sign_reply *signed_hash = &reply->body.sign;
    bool certified = sign->certified != 0;
    if (monitor->phase == MONITOR_BEFORE_LOGIN &&
        ++monitor->signatures > LIMIT_SIGNATURES_BEFORE_LOGIN) {
        return "too many key exchanges before the login";
    }
    if (certified && monitor->hostkey->certificate_bytes == 0) {
        return "key exchange with a host certificate that is not there";
    }
    if (monitor->login.session_id_bytes == 0 &&
        !sign_has_cookie(sign, tail, monitor->setup->cookie)) {
        return "first key exchange with the cookie of another connection";
    }
    signed_hash->hash_bytes =
        (uint32_t)sign_exchange_hash(signed_hash->hash, sign, tail, monitor->hostkey);
    crypto_sign_detached(signed_hash->signature, NULL, signed_hash->hash, signed_hash->hash_bytes,
                         monitor->hostkey->first.secret_key);
    keep_session_id(&monitor->login, sign, signed_hash);
    admission_note_exchange(monitor->setup->admission);
    monitor->silence_ms = INT64_MAX;
    return NULL;
}

static const char *on_prove(void *process, const void *request, struct reply *reply)
{
    struct monitor *monitor = process;
    const struct ipc_prove *prove = request;
    if (prove->key > 1 || (prove->key == 1 && !monitor->hostkey->has_second)) {
        return "proof of a host key that is not there";
    }
    if (++monitor->proofs[prove->key] > LIMIT_HOSTKEY_PROOFS) {
        return "too many proofs of a host key";
    }
    sign_proof(reply->body.prove.signature, monitor->hostkey, prove->key == 1,
               monitor->login.session_id, monitor->login.session_id_bytes);
    return NULL;
}

/* ---- login ----------------------------------------------------------------------------------- */

/* Of the longest life, if there is one. */
static int64_t life_ends_ms(const struct monitor *monitor)
{
    unsigned seconds = monitor->setup->options->life_seconds;
    return seconds > 0 ? monitor->started_ms + (int64_t)seconds * 1000 + LIMIT_LOGIN_GRACE_MS
                       : INT64_MAX;
}

static size_t auth_tail_bytes(const void *request)
{
    const struct ipc_auth *auth = request;
    return auth->blob_bytes <= LIMIT_KEY_BLOB_BYTES ? auth->blob_bytes : REQUEST_TAIL_TOO_LONG;
}

static const char *on_auth(void *process, const void *request, struct reply *reply)
{
    struct monitor *monitor = process;
    const struct ipc_auth *auth = request;
    struct ipc_auth_reply *answer = &reply->body.auth;
    const char *wrong =
        login_answer(&monitor->login, auth, (const uint8_t *)(auth + 1), &answer->verdict);
    if (wrong == NULL && auth->stage == IPC_AUTH_SIGNED &&
        answer->verdict == IPC_VERDICT_ACCEPTED) {
        monitor->phase = MONITOR_AFTER_LOGIN;
        monitor->just_logged_in = true;
        answer->forced = monitor->login.forced ? 1 : 0;
        monitor->deadline_ms = life_ends_ms(monitor);
        monitor->connection_gone = false; /* compute the wait again for the new deadline */
    }
    return wrong;
}

/* ---- log ------------------------------------------------------------------------------------- */

static size_t note_tail_bytes(const void *request)
{
    const struct ipc_note *note = request;
    return note->text_bytes <= LIMIT_NOTE_BYTES ? note->text_bytes : REQUEST_TAIL_TOO_LONG;
}

static const char *on_note(void *process, const void *request, struct reply *reply)
{
    struct monitor *monitor = process;
    const struct ipc_note *note = request;
    struct log_line line;
    if (note->level < LOG_EVENT || note->level > LOG_TRACE) {
        return "note of an unknown level";
    }
    /* Above the limit, notes are answered but not logged. */
    if (monitor->notes < LIMIT_NOTES) {
        monitor->notes++;
        log_begin(&line, "net");
        log_bytes(&line, "text", (const uint8_t *)(note + 1), note->text_bytes);
        log_end(&line, (enum log_level)note->level);
    }
    reply->body.done.done = 1;
    return NULL;
}

#define HAS_END(text) (memchr(text, '\0', sizeof(text)) != NULL)

static const char *on_end(void *process, const void *request, struct reply *reply)
{
    struct monitor *monitor = process;
    const struct ipc_end *end = request;
    (void)reply;
    if (end->cause != IPC_END_CLIENT && end->cause != IPC_END_OURS) {
        return "end of an unknown cause";
    }
    if (!HAS_END(end->reason) || !HAS_END(end->asked) || !HAS_END(end->client) ||
        !HAS_END(end->offer)) {
        return "end with a text without end";
    }
    monitor->ending.counted = true;
    monitor->ending.bytes_in = end->bytes_in;
    monitor->ending.bytes_out = end->bytes_out;
    memcpy(monitor->ending.asked, end->asked, sizeof(end->asked));
    memcpy(monitor->ending.offer, end->offer, sizeof(end->offer));
    memcpy(monitor->login.client, end->client, sizeof(end->client));
    ending_begin(monitor, end->cause == IPC_END_CLIENT ? 0 : EXIT_TROUBLE,
                 end->reason[0] != '\0' ? end->reason : "network process gave no reason");
    return NULL;
}

/* ---- the table ------------------------------------------------------------------------------- */

#define ROW(type, name, tail_bytes, phases, reply_bytes)                                           \
    [type] = {sizeof(struct ipc_##name), reply_bytes, phases, tail_bytes, on_##name},
static const struct request_row table[IPC_TYPES] = {IPC_MONITOR_REQUESTS(ROW)};

bool monitor_ipc_serve(struct monitor *monitor, union monitor_request *request)
{
    const char *wrong;
    enum request_outcome outcome = ipc_serve(monitor->setup->ipc, table, monitor->phase, monitor,
                                             request, sizeof(*request), &wrong);
    if (wrong != NULL) {
        ending_fail(monitor, wrong);
    }
    if (outcome == REQUEST_CLOSED) {
        monitor->phase = MONITOR_OVER;
    }
    return outcome == REQUEST_SERVED;
}
