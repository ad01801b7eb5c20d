/*
 * Decides login requests: has a child look up the user and the key, rebuilds the signed data with
 * the monitor's own session identifier, verifies the signature, counts and logs.
 */
#ifndef WREN_LOGIN_H
#define WREN_LOGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "admission.h"
#include "authkeys_ask.h"
#include "hostkey.h"
#include "ipc.h"
#include "log.h"
#include "options.h"
#include "peer.h"

#define LOGIN_REASON_BYTES 160

/* The result of one request. */
struct login_outcome {
    struct authkeys_account account; /* account_nobody()'s if the user may not log in */
    bool account_refused;
    bool accepted;
    char reason[LOGIN_REASON_BYTES]; /* of a refusal; of a login without a key, with -N */
    uint8_t blob_hash[32];           /* SHA-256 of the key blob */
    struct authkeys_verdict keys;
};

/* Begins the request's `event=login` line. */
void login_describe(struct log_line *line, const struct ipc_auth *request,
                    const struct login_outcome *outcome);

/* The last request, if it was an accepted probe. A signed request for the same user and key that
 * comes before the end of LIMIT_PROBED_MS reuses its outcome, which is still stored. */
struct login_probe {
    int64_t until_ms; /* 0: there is none */
    uint32_t key_type;
    char user[LIMIT_USER_BYTES];
    uint8_t blob_hash[32];
};

/* Used only before the login; later the monitor gives the memory back. */
struct login_scratch {
    struct login_outcome outcome; /* of the last request */
    struct login_probe probe;
};

struct login {
    const struct options *options;
    const struct peer *peer;
    const struct identity *identity;
    struct hostkey *hostkey;
    struct admission *admission;
    pid_t self;          /* the monitor's pid */
    int ipc;             /* once it hangs up, no answer is needed */
    int64_t deadline_ms; /* of the whole login */
    uid_t reserved_uid;  /* as in struct account_rules */
    struct login_scratch *scratch;

    /* Called for an accepted login: starts the session process with the account and the grant.
     * Returns NULL, or why the connection must end. */
    const char *(*enter)(void *monitor, const struct authkeys_account *account,
                         const struct grant *grant);
    void *monitor;

    size_t session_id_bytes; /* 0 until the first exchange hash has been signed */
    uint8_t session_id[64];
    unsigned requests;
    unsigned refused_probes;
    unsigned refused_signatures;
    char user[LIMIT_USER_BYTES]; /* who has logged in; "" before */
    bool forced;                 /* the login's key has a forced command */
};

/*
 * Answers one request and sets *verdict. If a signed request is accepted, login->enter() has been
 * called and login->user is set. The time that a refusal takes does not depend on whether the user
 * exists. `blob` has the request's blob_bytes.
 * Returns NULL, or why the connection must end: a value out of range, a text without a NUL, no
 * session identifier yet, a request after the last attempt or above LIMIT_AUTH_REQUESTS, a failure
 * of login->enter().
 */
const char *login_answer(struct login *login, const struct ipc_auth *request, const uint8_t *blob,
                         uint32_t *verdict);

/* Judges a request and fills in the outcome; of a refusal, the reason. `accepted` must be false. */
void login_decide(struct login *login, const struct ipc_auth *request, const uint8_t *blob,
                  struct login_outcome *outcome);

/* Two parts of it, also for -T. The first asks the child. The second sets the outcome: accepted, or
 * refused for the account or, if that is good, for the key. wrong_key is NULL for a good key. */
bool login_ask(const struct login *login, const struct ipc_auth *request, const uint8_t *blob,
               struct login_outcome *outcome, authkeys_judge *search);
void login_conclude(struct login_outcome *outcome, const struct ipc_auth *request,
                    const char *wrong_key);

#endif
