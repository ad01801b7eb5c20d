#include <sodium.h>
#include <stdio.h>

#include "login.h"
#include "ssh_key_types.h"

static void write_fingerprint(char out[static HOSTKEY_FINGERPRINT_BYTES],
                              const uint8_t hash[static 32])
{
    char base64[sodium_base64_ENCODED_LEN(32, sodium_base64_VARIANT_ORIGINAL_NO_PADDING)];
    sodium_bin2base64(base64, sizeof(base64), hash, 32, sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    snprintf(out, HOSTKEY_FINGERPRINT_BYTES, "SHA256:%s", base64);
}

/* Logs a certificate by the fingerprint of the key in it, if the child has parsed it; otherwise by
 * the hash of the whole blob. */
static void log_key(struct log_line *line, const struct ipc_auth *request,
                    const struct login_outcome *outcome)
{
    char fingerprint[HOSTKEY_FINGERPRINT_BYTES] = "-";
    bool inner = ssh_key_type_is_certificate(request->key_type) &&
                 !sodium_is_zero(outcome->keys.fingerprint, 32);
    if (request->key_type != IPC_KEY_UNSUPPORTED) {
        write_fingerprint(fingerprint, inner ? outcome->keys.fingerprint : outcome->blob_hash);
    }
    log_text(line, "key", fingerprint);
    log_text(line, "type", request->algorithm);
}

static void log_path(struct log_line *line, const struct login_outcome *outcome)
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

/* Not for accounts that may not log in: then the child has looked up the dummy user's key. */
static void log_details(struct log_line *line, const struct ipc_auth *request,
                        const struct login_outcome *outcome)
{
    const struct authkeys_verdict *keys = &outcome->keys;
    char fingerprint[HOSTKEY_FINGERPRINT_BYTES];
    if (outcome->account_refused) {
        return;
    }
    if (keys->option[0] != '\0' && keys->reason != AUTHKEYS_AUTHORITY_TYPE) {
        bool of_krl = keys->reason >= AUTHKEYS_REVOKED && keys->reason <= AUTHKEYS_REVOKED_RETURN;
        log_text(line, of_krl ? "section" : "option", keys->option);
    }
    if (ssh_key_type_is_certificate(request->key_type) && !sodium_is_zero(keys->authority, 32)) {
        write_fingerprint(fingerprint, keys->authority);
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

void login_log(const struct ipc_auth *request, const struct login_outcome *outcome)
{
    struct log_line line;
    bool probe = request->stage == IPC_AUTH_PROBE;
    login_describe(&line, request, outcome);
    log_end(&line, outcome->accepted && probe ? LOG_DETAIL : LOG_EVENT);
}
