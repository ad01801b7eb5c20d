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

struct login {
    const struct options *options;
    struct hostkey *hostkey;
    int ipc;             /* no need to answer once it hangs up */
    int64_t deadline_ms; /* of the whole login */

    size_t session_id_bytes; /* 0 until the first exchange hash has been signed */
    uint8_t session_id[64];
    unsigned refusals;

    /* The last probe, if its key could log in: the signed request for just this user and key
     * needs no second look. */
    bool probed;
    char probed_user[LIMIT_USER_BYTES];
    uint8_t probed_key[32];
    struct authkeys_verdict probed_verdict;

    struct account account; /* who is logged in, after the login */
};

/*
 * Answers one request: sets *verdict; after IPC_VERDICT_ACCEPTED of a signed one this process is
 * the user (account_become) and login->account says which. Takes as long for a user who does
 * not exist as for a refused key.
 * Returns NULL, or why the connection must end: a value out of range, a text without end, no
 * session identifier yet, a request after the last refusal, a user that could not be become.
 */
const char *login_answer(struct login *login, const struct ipc_auth *request, uint32_t *verdict);

/* The data that a client signs (RFC 4252 section 7), built into `out`; returns its length. */
#define LOGIN_SIGNED_BYTES 1024
size_t login_signed_data(uint8_t out[static LOGIN_SIGNED_BYTES], const struct login *login,
                         const struct ipc_auth *request);

#endif
