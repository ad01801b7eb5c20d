#include "monitor_internal.h"

#include <poll.h>
#include <sodium.h>
#include <stdio.h>

/* ---- the log --------------------------------------------------------------------------------- */

/* Logs a certificate by the fingerprint of the key in it, if the child has parsed it; otherwise by
 * the hash of the whole blob. */
static void log_key(struct log_line *line, const struct ipc_auth *request,
                    const struct login_outcome *outcome)
{
    char fingerprint[FINGERPRINT_BYTES] = "-";
    bool inner = ssh_key_type_is_certificate(request->key_type) &&
                 !sodium_is_zero(outcome->keys.grant.fingerprint, 32);
    if (request->key_type != IPC_KEY_UNSUPPORTED) {
        fingerprint_write(fingerprint,
                          inner ? outcome->keys.grant.fingerprint : outcome->blob_hash);
    }
    log_text(line, "key", fingerprint);
    log_text(line, "type", request->algorithm);
}

static void log_path(struct log_line *line, const struct login_outcome *outcome)
{
    const struct authkeys_verdict *keys = &outcome->keys;
    if (outcome->refused_before_keys || keys->path[0] == '\0') {
        return;
    }
    log_text(line, outcome->accepted ? "authkeys" : "path", keys->path);
    if (keys->reason == AUTHKEYS_UNSAFE_OWNER || keys->reason == AUTHKEYS_UNSAFE_MODE) {
        log_number(line, "owner", keys->owner);
        log_octal(line, "mode", keys->mode);
    }
    if (keys->line != 0) {
        log_number(line, "line", keys->line);
    }
}

/* Not for accounts that may not log in: for these the child has searched the dummy user's file. */
static void log_details(struct log_line *line, const struct ipc_auth *request,
                        const struct login_outcome *outcome)
{
    const struct authkeys_verdict *keys = &outcome->keys;
    char fingerprint[FINGERPRINT_BYTES];
    if (outcome->refused_before_keys) {
        return;
    }
    if (keys->option[0] != '\0' && keys->reason != AUTHKEYS_AUTHORITY_TYPE) {
        bool of_krl = keys->reason >= AUTHKEYS_REVOKED && keys->reason <= AUTHKEYS_REVOKED_RETURN;
        log_text(line, of_krl ? "section" : "option", keys->option);
    }
    if (ssh_key_type_is_certificate(request->key_type) &&
        !sodium_is_zero(keys->grant.authority, 32)) {
        fingerprint_write(fingerprint, keys->grant.authority);
        log_text(line, "id", keys->grant.key_id);
        log_number(line, "serial", keys->grant.serial);
        log_text(line, "ca", fingerprint);
    }
    if (request->stage == IPC_AUTH_SIGNED && keys->grant.key.sk) {
        log_number(line, "counter", request->sk_counter);
    }
}

void login_describe(struct log_line *line, const struct ipc_auth *request,
                    const struct login_outcome *outcome)
{
    bool probe = request->stage == IPC_AUTH_PROBE;
    log_begin(line, "login");
    log_text(line, "user", request->user);
    log_key(line, request, outcome);
    log_text(line, "verdict", !outcome->accepted ? "refused" : probe ? "acceptable" : "accepted");
    if (outcome->reason[0] != '\0') {
        log_text(line, "reason", outcome->reason);
    }
    log_path(line, outcome);
    log_details(line, request, outcome);
    if (outcome->keys.revoked_empty != 0) {
        log_text(line, "revoked-list", "empty");
    }
}

static void log_login(const struct login *login, const struct ipc_auth *request)
{
    struct log_line line;
    bool probe = request->stage == IPC_AUTH_PROBE;
    bool accepted = login->scratch->outcome.accepted;
    login_describe(&line, request, &login->scratch->outcome);
    if (accepted && !probe) {
        log_text(&line, "kex", login->hybrid ? "sntrup761x25519-sha512" : "curve25519-sha256");
        log_text(&line, "client", login->client);
    }
    log_end(&line, accepted && probe ? LOG_DETAIL : LOG_EVENT);
}

/* ---- the decision ---------------------------------------------------------------------------- */

static bool is_supported(const char *algorithm)
{
    uint32_t type = IPC_KEY_ED25519;
    while (type < IPC_KEY_UNSUPPORTED && strcmp(algorithm, ssh_key_types[type]) != 0) {
        type++;
    }
    return type < IPC_KEY_UNSUPPORTED;
}

static bool has_attempts(const struct login *login)
{
    return login->refused_signatures < login->setup->options->attempts &&
           login->refused_probes < LIMIT_REFUSED_PROBES;
}

static const char *check_request(struct login *login, const struct ipc_auth *request)
{
    /* Counts accepted probes as well: each of them costs a child. */
    if (++login->requests > LIMIT_AUTH_REQUESTS) {
        return "too many login requests";
    }
    if (request->stage != IPC_AUTH_PROBE && request->stage != IPC_AUTH_SIGNED) {
        return "login request of an unknown stage";
    }
    if (request->key_type < IPC_KEY_ED25519 || request->key_type > IPC_KEY_UNSUPPORTED) {
        return "login request with an unknown key type";
    }
    if ((request->key_type == IPC_KEY_UNSUPPORTED) != (request->blob_bytes == 0) ||
        request->blob_bytes > LIMIT_KEY_BLOB_BYTES) {
        return "login request with a key blob of a wrong size";
    }
    if (request->sk_flags > 0xff || (!ssh_key_type_is_sk(request->key_type) &&
                                     (request->sk_flags != 0 || request->sk_counter != 0))) {
        return "login request with wrong flags of an authenticator";
    }
    if (request->hostbound > 1) {
        return "login request with an unknown method";
    }
    if (memchr(request->user, '\0', sizeof(request->user)) == NULL ||
        memchr(request->algorithm, '\0', sizeof(request->algorithm)) == NULL) {
        return "login request with a text without end";
    }
    if (login->session_id_bytes == 0) {
        return "login request before the first key exchange";
    }
    if (!has_attempts(login)) {
        return "login request after the last attempt";
    }
    return NULL;
}

/* Not for a further probe, which could prolong the result of the first. */
static bool is_as_probed(const struct login_probe *probe, const struct ipc_auth *request,
                         const struct login_outcome *outcome)
{
    return request->stage == IPC_AUTH_SIGNED && clock_now_ms() < probe->until_ms &&
           request->key_type == probe->key_type && strcmp(probe->user, request->user) == 0 &&
           memcmp(probe->blob_hash, outcome->blob_hash, sizeof(probe->blob_hash)) == 0;
}

static void remember_probe(struct login_probe *probe, const struct ipc_auth *request,
                           const struct login_outcome *outcome, int64_t received_ms)
{
    probe->until_ms = received_ms + LIMIT_PROBED_MS;
    probe->key_type = request->key_type;
    memcpy(probe->user, request->user, sizeof(probe->user));
    memcpy(probe->blob_hash, outcome->blob_hash, sizeof(probe->blob_hash));
}

bool login_ask(const struct login *login, const struct ipc_auth *request, const uint8_t *blob,
               struct login_outcome *outcome, authkeys_judge *search)
{
    const struct options *options = login->setup->options;
    const struct peer *peer = login->setup->peer;
    struct authkeys_request for_child = {
        .query = {.user = options->anybody != NULL ? options->anybody : request->user,
                  .ca_path = options->authorities,
                  .revoked_path = options->revoked,
                  .address = peer->has_ip ? peer->address : NULL,
                  .now = time(NULL),
                  .may_set_environment = options->user_environment,
                  .key_type = request->key_type,
                  .blob = blob,
                  .blob_bytes = request->blob_bytes},
        .search = search,
        .setup = login->setup,
        .hostkey = login->hostkey,
        .monitor = getpid(),
        .deadline_ms = login->deadline_ms,
    };
    memcpy(for_child.query.patterns, options->authkeys, sizeof(options->authkeys));
    return authkeys_ask(&outcome->account, &outcome->keys, &for_child);
}

/* NULL, or the first thing that is wrong with the key and its signature. */
static const char *judge_key(const struct login *login, const struct ipc_auth *request,
                             const uint8_t *blob, struct login_outcome *outcome)
{
    bool listed = is_as_probed(&login->scratch->probe, request, outcome) ||
                  login_ask(login, request, blob, outcome, authkeys_search);
    /* Also for an account that may not log in, so that timing does not reveal it. */
    const char *wrong_signature = request->stage == IPC_AUTH_SIGNED
                                      ? sign_judge_login(login, request, blob, &outcome->keys.grant)
                                      : NULL;
    return listed ? wrong_signature : authkeys_words(&outcome->keys);
}

/* With -N no key and no signature counts, whatever the network process and the child have sent:
 * only the account can be refused. */
static void decide_without_key(struct login *login, const struct ipc_auth *request,
                               struct login_outcome *outcome)
{
    login_ask(login, request, NULL, outcome, authkeys_search);
    outcome->accepted = outcome->account.reason == ACCOUNT_GOOD;
    outcome->refused_before_keys = !outcome->accepted;
    memset(&outcome->keys.grant, 0, sizeof(outcome->keys.grant));
    outcome->keys.grant.flags = GRANT_OF_PLAIN_LINE;
    snprintf(outcome->reason, sizeof(outcome->reason), "%s",
             outcome->accepted ? "anybody may log in: -N" : account_words(outcome->account.reason));
}

/* Of the user, the key and the signature, the log names the first that fails, in this order. */
void login_conclude(struct login_outcome *outcome, const struct ipc_auth *request,
                    const char *wrong_key)
{
    bool unsupported = request->key_type == IPC_KEY_UNSUPPORTED;
    bool wrong_account = outcome->account.reason != ACCOUNT_GOOD;
    outcome->refused_before_keys = wrong_account || unsupported;

    if (!wrong_account && unsupported) {
        snprintf(outcome->reason, sizeof(outcome->reason),
                 is_supported(request->algorithm) ? "malformed key or signature of type %s"
                                                  : "key type %s is not supported",
                 request->algorithm);
    } else if (wrong_account || wrong_key != NULL) {
        bool typed = !wrong_account && outcome->keys.reason == AUTHKEYS_AUTHORITY_TYPE;
        snprintf(outcome->reason, sizeof(outcome->reason), "%s%s%s",
                 wrong_account ? account_words(outcome->account.reason) : wrong_key,
                 typed ? outcome->keys.option : "", typed ? ", only ed25519 is taken" : "");
    } else {
        outcome->accepted = true;
    }
}

void login_decide(struct login *login, const struct ipc_auth *request, const uint8_t *blob,
                  struct login_outcome *outcome)
{
    if (login->setup->options->anybody != NULL) {
        decide_without_key(login, request, outcome);
    } else {
        login_conclude(outcome, request, judge_key(login, request, blob, outcome));
    }
}

/* ---- the time of a refusal ------------------------------------------------------------------- */

/* 0 to LIMIT_REFUSAL_JITTER_MS - 1, constant for each host and user: timing one user's refusals
 * does not help to time another's. */
static int64_t jitter_ms(const struct login *login, const char *user)
{
    uint8_t hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, login->hostkey->first.secret_key,
                              sizeof(login->hostkey->first.secret_key));
    crypto_hash_sha256_update(&state, (const uint8_t *)user, strlen(user));
    crypto_hash_sha256_final(&state, hash);
    sodium_memzero(&state, sizeof(state));
    return hash[0] % LIMIT_REFUSAL_JITTER_MS;
}

/* To the nanosecond: a wait of whole milliseconds would keep the fraction of a millisecond at which
 * the work ended, and the time of the answer would reveal it. */
static struct timespec time_until(int64_t until_ms)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t left_ns = until_ms * 1000000 - (now.tv_sec * 1000000000LL + now.tv_nsec);
    left_ns = left_ns > 0 ? left_ns : 0;
    return (struct timespec){(time_t)(left_ns / 1000000000), (long)(left_ns % 1000000000)};
}

/* Returns early if the network process has hung up, or if a signal has asked us to end. */
static void wait_until(const struct login *login, int64_t until_ms)
{
    struct pollfd network = {.fd = login->setup->ipc};
    while (clock_now_ms() < until_ms && !signals_ending_wait()) {
        struct timespec left = time_until(until_ms);
        if (ppoll(&network, 1, &left, NULL) > 0) {
            break;
        }
    }
}

/* A refusal is sent at a fixed time after its request, plus the user's jitter. If the work took
 * longer, the time is doubled until it suffices; it never goes beyond the login deadline. */
static void wait_for_refusal(const struct login *login, const char *user, int64_t received_ms)
{
    int64_t spent_ms = clock_now_ms() - received_ms;
    int64_t wanted_ms = LIMIT_REFUSAL_MS + jitter_ms(login, user);
    while (wanted_ms < spent_ms) {
        wanted_ms *= 2;
    }
    int64_t answer_ms = received_ms + wanted_ms;
    wait_until(login, answer_ms < login->deadline_ms ? answer_ms : login->deadline_ms);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* The reserve is for administrators: the user who runs the server, and the group of -G. A key with
 * a forced command does not count as theirs, even if it logs in as root. */
static bool has_room(struct login *login, struct login_outcome *outcome)
{
    const struct authkeys_account *found = &outcome->account;
    const struct options *options = login->setup->options;
    struct admission *admission = login->setup->admission;
    bool forced = options->anybody != NULL || (outcome->keys.grant.flags & GRANT_FORCED) != 0;
    bool reserved =
        !forced && (found->groups.has_reserve != 0 || found->account.uid == admission->uid);
    const char *full =
        admission_log_in(admission, found->account.uid, options->user_connections, reserved);
    if (full != NULL) {
        outcome->accepted = false;
        login->scratch->probe.until_ms = 0;
        snprintf(outcome->reason, sizeof(outcome->reason), "%s", full);
    }
    return full == NULL;
}

/* For a plain key our own hash replaces the child's, so that all lines of the log agree. */
static const char *enter_session(struct login *login, const struct ipc_auth *request,
                                 struct login_outcome *outcome)
{
    struct grant *grant = &outcome->keys.grant;
    if (login->setup->options->anybody == NULL && !ssh_key_type_is_certificate(request->key_type)) {
        memcpy(grant->fingerprint, outcome->blob_hash, sizeof(grant->fingerprint));
        grant->flags &= ~(uint32_t)GRANT_CERTIFICATE;
    }
    const char *wrong = drop_privileges(login->monitor, &outcome->account, grant);
    if (wrong == NULL) {
        memcpy(login->user, outcome->account.account.user, sizeof(login->user));
        login->forced = (grant->flags & GRANT_FORCED) != 0;
    }
    return wrong;
}

static void refuse_login(struct login *login, const struct ipc_auth *request, int64_t received_ms,
                         uint32_t *verdict)
{
    login->scratch->probe.until_ms = 0;
    ++*(request->stage == IPC_AUTH_PROBE ? &login->refused_probes : &login->refused_signatures);
    *verdict = has_attempts(login) ? IPC_VERDICT_REFUSED : IPC_VERDICT_LAST;
    log_login(login, request);
    wait_for_refusal(login, request->user, received_ms);
}

const char *login_answer(struct login *login, const struct ipc_auth *request, const uint8_t *blob,
                         uint32_t *verdict)
{
    struct login_outcome *outcome = &login->scratch->outcome;
    int64_t received_ms = clock_now_ms();
    const char *wrong = check_request(login, request);
    if (wrong != NULL) {
        return wrong;
    }
    /* login_decide() sets the account and the key's verdict. These are large, and writing to them
     * before the child is forked would cost a copy of each page. */
    outcome->refused_before_keys = outcome->accepted = false;
    outcome->reason[0] = '\0';
    crypto_hash_sha256(outcome->blob_hash, blob, request->blob_bytes);
    login_decide(login, request, blob, outcome);
    if (!outcome->accepted) {
        refuse_login(login, request, received_ms, verdict);
        return NULL;
    }
    bool enters = request->stage == IPC_AUTH_SIGNED && has_room(login, outcome);
    if (request->stage == IPC_AUTH_PROBE) {
        remember_probe(&login->scratch->probe, request, outcome, received_ms);
    }
    /* While we are still root: nobody else can write such a line into the journal. */
    log_login(login, request);
    wrong = enters ? enter_session(login, request, outcome) : NULL;
    if (wrong == NULL) {
        *verdict = outcome->accepted ? IPC_VERDICT_ACCEPTED : IPC_VERDICT_FULL;
    }
    return wrong;
}
