#include "login.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "log.h"
#include "numbers.h"
#include "writer.h"

#define REASON_BYTES 160

/* What came out of one request. */
struct outcome {
    struct account account; /* nobody's if it may not log in */
    bool account_refused;
    bool accepted;
    char reason[REASON_BYTES];
    struct authkeys_verdict keys;
};

/*
 * string    session identifier
 * byte      SSH_MSG_USERAUTH_REQUEST
 * string    user name
 * string    "ssh-connection"
 * string    "publickey" or "publickey-hostbound-v00@openssh.com"
 * boolean   TRUE
 * string    "ssh-ed25519"
 * string    public key blob
 * string    server host key blob (hostbound only)
 */
size_t login_signed_data(uint8_t out[static LOGIN_SIGNED_BYTES], const struct login *login,
                         const struct ipc_auth *request)
{
    struct writer writer;
    uint8_t blob[HOSTKEY_BLOB_BYTES];
    writer_init(&writer, out, LOGIN_SIGNED_BYTES);
    writer_string(&writer, login->session_id, login->session_id_bytes);
    writer_u8(&writer, SSH_MSG_USERAUTH_REQUEST);
    writer_text(&writer, request->user);
    writer_text(&writer, "ssh-connection");
    writer_text(&writer, request->hostbound ? "publickey-hostbound-v00@openssh.com" : "publickey");
    writer_bool(&writer, true);
    writer_text(&writer, "ssh-ed25519");
    hostkey_blob(blob, request->public_key);
    writer_string(&writer, blob, sizeof(blob));
    if (request->hostbound) {
        hostkey_blob(blob, login->hostkey->public_key);
        writer_string(&writer, blob, sizeof(blob));
    }
    return writer_failed(&writer) ? 0 : writer.used;
}

/* libsodium refuses S >= L and public keys of small order. */
static bool is_signature_good(const struct login *login, const struct ipc_auth *request)
{
    uint8_t data[LOGIN_SIGNED_BYTES];
    size_t data_bytes = login_signed_data(data, login, request);
    return data_bytes > 0 && crypto_sign_verify_detached(request->signature, data, data_bytes,
                                                         request->public_key) == 0;
}

static const char *check_request(const struct login *login, const struct ipc_auth *request)
{
    if (request->stage != IPC_AUTH_PROBE && request->stage != IPC_AUTH_SIGNED) {
        return "login request of an unknown stage";
    }
    if (request->key_type != IPC_KEY_ED25519 && request->key_type != IPC_KEY_UNSUPPORTED) {
        return "login request with an unknown key type";
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
    if (login->refusals >= login->options->attempts) {
        return "login request after the last attempt";
    }
    return NULL;
}

static bool is_as_probed(const struct login *login, const struct ipc_auth *request)
{
    return login->probed && request->key_type == IPC_KEY_ED25519 &&
           strcmp(login->probed_user, request->user) == 0 &&
           memcmp(login->probed_key, request->public_key, sizeof(login->probed_key)) == 0;
}

static void remember_probe(struct login *login, const struct ipc_auth *request,
                           const struct outcome *outcome)
{
    login->probed = true;
    memcpy(login->probed_user, request->user, sizeof(login->probed_user));
    memcpy(login->probed_key, request->public_key, sizeof(login->probed_key));
    login->probed_verdict = outcome->keys;
}

/* Nobody's file is looked for just the same: the work tells nothing about the user. */
static bool ask_for_key(const struct login *login, const struct ipc_auth *request,
                        struct outcome *outcome)
{
    const struct authkeys_query query = {
        .pattern = outcome->account_refused ? NULL : login->options->authkeys,
        .account = &outcome->account,
        .public_key = request->public_key,
        .hostkey = login->hostkey,
        .watched = login->ipc,
        .deadline_ms = login->deadline_ms,
    };
    return authkeys_ask(&outcome->keys, &query);
}

/* First the user, then the key, then the signature: the log tells the first that fails. */
static void decide(struct login *login, const struct ipc_auth *request, struct outcome *outcome)
{
    const char *reason = account_find(&outcome->account, request->user, login->options->group);
    outcome->account_refused = reason != NULL || request->key_type == IPC_KEY_UNSUPPORTED;
    if (reason == NULL && outcome->account_refused) {
        account_nobody(&outcome->account);
    }

    bool listed = !outcome->account_refused && is_as_probed(login, request);
    if (listed) {
        outcome->keys = login->probed_verdict;
    } else {
        listed = ask_for_key(login, request, outcome);
    }
    bool signed_well = request->stage == IPC_AUTH_PROBE;
    if (request->stage == IPC_AUTH_SIGNED) {
        signed_well = is_signature_good(login, request);
    }

    if (reason != NULL) {
        snprintf(outcome->reason, sizeof(outcome->reason), "%s", reason);
    } else if (request->key_type == IPC_KEY_UNSUPPORTED) {
        snprintf(outcome->reason, sizeof(outcome->reason), "key type %s is not supported",
                 request->algorithm);
    } else if (!listed) {
        snprintf(outcome->reason, sizeof(outcome->reason), "%s", authkeys_words(&outcome->keys));
    } else if (!signed_well) {
        snprintf(outcome->reason, sizeof(outcome->reason), "bad signature");
    } else {
        outcome->accepted = true;
    }
}

static void log_keys_path(struct log_line *line, const struct outcome *outcome)
{
    const struct authkeys_verdict *keys = &outcome->keys;
    if (outcome->account_refused || keys->path[0] == '\0') {
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

static void log_outcome(const struct ipc_auth *request, const struct outcome *outcome)
{
    struct log_line line;
    char fingerprint[HOSTKEY_FINGERPRINT_BYTES] = "-";
    bool probe = request->stage == IPC_AUTH_PROBE;
    if (request->key_type == IPC_KEY_ED25519) {
        hostkey_fingerprint(fingerprint, request->public_key);
    }
    log_begin(&line, "login");
    log_text(&line, "user", request->user);
    log_text(&line, "key", fingerprint);
    log_text(&line, "type", request->algorithm);
    if (outcome->accepted) {
        log_text(&line, "verdict", probe ? "acceptable" : "accepted");
    } else {
        log_text(&line, "verdict", "refused");
        log_text(&line, "reason", outcome->reason);
    }
    log_keys_path(&line, outcome);
    log_end(&line, outcome->accepted && probe ? LOG_DETAIL : LOG_EVENT);
}

/* Answers a refusal at the next multiple of LIMIT_REFUSAL_MS after its request. */
static void wait_for_refusal(int64_t asked_ms)
{
    int64_t spent = clock_now_ms() - asked_ms;
    int64_t answer_ms = asked_ms + (spent / LIMIT_REFUSAL_MS + 1) * LIMIT_REFUSAL_MS;
    const struct timespec until = {
        .tv_sec = (time_t)(answer_ms / 1000),
        .tv_nsec = (long)(answer_ms % 1000) * 1000000,
    };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

const char *login_answer(struct login *login, const struct ipc_auth *request, uint32_t *verdict)
{
    struct outcome outcome = {.accepted = false};
    int64_t asked_ms = clock_now_ms();
    const char *wrong = check_request(login, request);
    if (wrong != NULL) {
        return wrong;
    }

    decide(login, request, &outcome);
    if (!outcome.accepted) {
        login->probed = false;
        login->refusals++;
        *verdict =
            login->refusals >= login->options->attempts ? IPC_VERDICT_LAST : IPC_VERDICT_REFUSED;
        log_outcome(request, &outcome);
        wait_for_refusal(asked_ms);
        return NULL;
    }
    if (request->stage == IPC_AUTH_PROBE) {
        remember_probe(login, request, &outcome);
    } else if (account_become(&outcome.account) != 0) {
        log_trouble("could not become the user", NULL, strerror(errno));
        return "could not become the user";
    } else {
        login->account = outcome.account;
    }
    *verdict = IPC_VERDICT_ACCEPTED;
    log_outcome(request, &outcome);
    return NULL;
}
