/*
 * Decides logins: rebuilds the signed data from the monitor's own session identifier, asks the
 * child that reads keys, verifies, counts, logs.
 */
#ifndef WREN_LOGIN_H
#define WREN_LOGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "authkeys_ask.h"
#include "hostkey.h"
#include "ipc.h"
#include "options.h"
#include "peer.h"

/* ---- login_log.c ----------------------------------------------------------------------------- */

#define LOGIN_REASON_BYTES 160

/* What came out of one request. */
struct login_outcome {
    struct authkeys_account account; /* nobody's if it may not log in */
    bool account_refused;
    bool accepted;
    char reason[LOGIN_REASON_BYTES];
    uint8_t blob_hash[32]; /* SHA-256 of the key blob */
    struct authkeys_verdict keys;
};

/* The one `event=login` line of a request. */
void login_log(const struct ipc_auth *request, const struct login_outcome *outcome);

/* ---- login.c --------------------------------------------------------------------------------- */

/* The last probe whose key could log in: the signed request for just this user and key needs no
 * second look. */
struct login_probe {
    bool found;
    uint32_t key_type;
    char user[LIMIT_USER_BYTES];
    uint8_t blob_hash[32];
    struct authkeys_account account;
    struct authkeys_verdict keys;
};

/* Of no use after the login; the monitor gives the memory back. */
struct login_scratch {
    struct login_outcome outcome; /* of the request at hand */
    struct login_probe probe;
};

struct login {
    const struct options *options;
    const struct peer *peer;
    const struct identity *identity;
    struct hostkey *hostkey;
    int ipc;             /* no need to answer once it hangs up */
    int64_t deadline_ms; /* of the whole login */
    uid_t reserved_uid;  /* struct account_rules */
    struct login_scratch *scratch;

    /* Makes the login happen: starts the session process with the account and the grant. Returns
     * NULL, or why the connection must end. */
    const char *(*enter)(void *monitor, const struct authkeys_account *account,
                         const struct grant *grant);
    void *monitor;

    size_t session_id_bytes; /* 0 until the first exchange hash has been signed */
    uint8_t session_id[64];
    unsigned requests;
    unsigned refusals;
    char user[LIMIT_USER_BYTES]; /* who is logged in */
    bool forced;                 /* that login's grant has a forced command */
};

/*
 * Answers one request: sets *verdict; after IPC_VERDICT_ACCEPTED of a signed one login->enter() has
 * been called and login->user is set. A refusal's time does not depend on whether the user exists.
 * `blob` has the request's blob_bytes.
 * Returns NULL, or why the connection must end: a value out of range, a text without end, no
 * session identifier yet, a request after the last refusal or above LIMIT_AUTH_REQUESTS, a login
 * that could not be entered.
 */
const char *login_answer(struct login *login, const struct ipc_auth *request, const uint8_t *blob,
                         uint32_t *verdict);

/* The data that a client signs (RFC 4252 section 7), built into `out`; returns its length. */
#define LOGIN_SIGNED_BYTES (1024 + LIMIT_KEY_BLOB_BYTES + LIMIT_HOST_CERTIFICATE_BYTES)
size_t login_signed_data(uint8_t out[static LOGIN_SIGNED_BYTES], const struct login *login,
                         const struct ipc_auth *request, const uint8_t *blob);

#endif
