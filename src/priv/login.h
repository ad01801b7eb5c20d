/*
 * Decides logins: rebuilds the signed data from the monitor's own session identifier, asks
 * authkeys, verifies, counts, logs.
 */
#ifndef WREN_LOGIN_H
#define WREN_LOGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account.h"
#include "authkeys.h"
#include "hostkey.h"
#include "ipc.h"
#include "options.h"
#include "peer.h"

struct login {
    const struct options *options;
    const struct peer *peer;
    struct hostkey *hostkey;
    int ipc;             /* no need to answer once it hangs up */
    int64_t deadline_ms; /* of the whole login */

    size_t session_id_bytes; /* 0 until the first exchange hash has been signed */
    uint8_t session_id[64];
    unsigned refusals;

    /* Who is logged in, after the login, and what the key that signed may do. */
    struct account account;
    struct grant grant;

    /* The last probe, if its key could log in: the signed request for just this user and key
     * needs no second look. Of no use after the login. */
    bool probed;
    char probed_user[LIMIT_USER_BYTES];
    uint32_t probed_type;
    uint8_t probed_blob[32]; /* SHA-256 of the key blob */
    struct authkeys_verdict probed_verdict;
};

/*
 * Answers one request: sets *verdict; after IPC_VERDICT_ACCEPTED of a signed one this process is
 * the user (account_become) and login->account says which. Takes as long for a user who does
 * not exist as for a refused key. `blob` has the request's blob_bytes.
 * Returns NULL, or why the connection must end: a value out of range, a text without end, no
 * session identifier yet, a request after the last refusal, a user that could not be become.
 */
const char *login_answer(struct login *login, const struct ipc_auth *request, const uint8_t *blob,
                         uint32_t *verdict);

/* The data that a client signs (RFC 4252 section 7), built into `out`; returns its length. */
#define LOGIN_SIGNED_BYTES (1024 + LIMIT_KEY_BLOB_BYTES + LIMIT_HOST_CERTIFICATE_BYTES)
size_t login_signed_data(uint8_t out[static LOGIN_SIGNED_BYTES], const struct login *login,
                         const struct ipc_auth *request, const uint8_t *blob);

/* ---- login_log.c ----------------------------------------------------------------------------- */

#define LOGIN_REASON_BYTES 160

/* What came out of one request. */
struct login_outcome {
    struct account account; /* nobody's if it may not log in */
    struct account_groups groups;
    bool account_refused;
    bool accepted;
    char reason[LOGIN_REASON_BYTES];
    uint8_t blob_hash[32]; /* SHA-256 of the key blob */
    struct authkeys_verdict keys;
};

/* The one `event=login` line of a request. */
void login_log(const struct ipc_auth *request, const struct login_outcome *outcome);

#endif
